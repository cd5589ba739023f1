// The colours and the width of a terminal.
#ifndef GRAPHNET_COMMAND_TERMINAL_H_
#define GRAPHNET_COMMAND_TERMINAL_H_

#include <cstddef>
#include <cstdio>
#include <string>

#include "absl/strings/string_view.h"

namespace graphnet {

// Returns whether `out` understands escape sequences: it is a terminal, and TERM is not "dumb".
bool IsTerminal(FILE* out);
// Returns the number of columns; 80 if it is unknown.
size_t TerminalWidth(FILE* out);
// Sets whether text may be coloured at all.
void AllowColours(bool allow);
// Returns whether text may be coloured: it is allowed, `out` is a terminal, and NO_COLOR is not set.
bool HasColours(FILE* out);

// Return the text in a colour if `out` has colours.
std::string Red(absl::string_view text, FILE* out = stdout);
std::string Green(absl::string_view text, FILE* out = stdout);

}  // namespace graphnet

#endif  // GRAPHNET_COMMAND_TERMINAL_H_
