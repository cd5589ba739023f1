#include "graphnet/cli/messages.h"

#include <cstddef>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/terminal.h"

namespace graphnet {
namespace {

constexpr size_t kMaxBytes = 4000;

void PrintLine(const std::string& line) {
  std::fflush(stdout);
  std::fputs(line.c_str(), stderr);
}

}  // namespace

void PrintError(absl::string_view message) {
  PrintLine(absl::StrCat(Red("graphnet:", stderr), " ", message, "\n"));
}

void PrintWarning(absl::string_view text) {
  PrintLine(absl::StrCat("warning: ", Printable(text, kMaxBytes), "\n"));
}

void PrintNote(absl::string_view text) { PrintLine(NoteLine(text)); }

std::string NoteLine(absl::string_view text) {
  return absl::StrCat("note: ", Printable(text, kMaxBytes), "\n");
}

}  // namespace graphnet
