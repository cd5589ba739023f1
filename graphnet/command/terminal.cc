#include "graphnet/command/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace graphnet {
namespace {

bool allows_colours = true;

std::string Coloured(const char* colour, absl::string_view text, FILE* out) {
  return HasColours(out) ? absl::StrCat("\x1b[", colour, "m", text, "\x1b[0m") : std::string(text);
}

}  // namespace

bool IsTerminal(FILE* out) {
  const char* term = std::getenv("TERM");
  return term != nullptr && *term != '\0' && absl::string_view(term) != "dumb" &&
         isatty(fileno(out)) == 1;
}

void AllowColours(bool allow) { allows_colours = allow; }

bool HasColours(FILE* out) {
  const char* no_color = std::getenv("NO_COLOR");  // no-color.org: any text that is not empty
  return allows_colours && (no_color == nullptr || *no_color == '\0') && IsTerminal(out);
}

size_t TerminalWidth(FILE* out) {
  winsize size = {};
  return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string Red(absl::string_view text, FILE* out) { return Coloured("31", text, out); }
std::string Green(absl::string_view text, FILE* out) { return Coloured("32", text, out); }

}  // namespace graphnet
