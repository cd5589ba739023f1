// What a terminal shows: colours, and how wide it is.
#ifndef GRAPHNET_CLI_TERMINAL_H_
#define GRAPHNET_CLI_TERMINAL_H_

#include <cstddef>
#include <cstdio>
#include <string>

#include "absl/strings/string_view.h"

namespace graphnet {

// Whether escape sequences mean something there: a terminal, and TERM is not dumb.
bool IsTerminal(FILE* out);
// Its columns; 80 where it does not say.
size_t TerminalWidth(FILE* out);

// The text in a colour, if `out` is a terminal and NO_COLOR is not set.
std::string Red(absl::string_view text, FILE* out = stdout);
std::string Green(absl::string_view text, FILE* out = stdout);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_TERMINAL_H_
