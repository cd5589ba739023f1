// Writes a word for a POSIX shell, so that a line that is printed for the user to type means what it
// says, whatever a path is called.
#ifndef GRAPHNET_BASE_SHELL_WORD_H_
#define GRAPHNET_BASE_SHELL_WORD_H_

#include <string>

#include "absl/strings/string_view.h"

namespace graphnet {

// Returns the text as one word: as it is if the shell takes it so, otherwise in quotes. Text
// that Printable would change is escaped as in $'\033', which bash, zsh and ksh read.
std::string ShellWord(absl::string_view text);

}  // namespace graphnet

#endif  // GRAPHNET_BASE_SHELL_WORD_H_
