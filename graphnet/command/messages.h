// Writes what the tool says: its output, and its errors, warnings and notes, which are one line each.
#ifndef GRAPHNET_COMMAND_MESSAGES_H_
#define GRAPHNET_COMMAND_MESSAGES_H_

#include <cstdio>
#include <string>

#include "absl/strings/string_view.h"

namespace graphnet {

// The functions that print flush the standard output first, so that the lines are in order where
// both streams go to one place. Text may have any bytes: a line shows line breaks and other control
// characters as escapes, and ends after 4,000 bytes.

// Writes text, as it is, to the standard output.
void WriteOutput(absl::string_view text);
// Writes text, as it is, to the standard error.
void WriteAside(absl::string_view text);

// While it lives, text for the standard output and the standard error comes here instead. Only one
// can live at a time.
class CollectedOutput {
 public:
  CollectedOutput();
  CollectedOutput(const CollectedOutput&) = delete;
  CollectedOutput& operator=(const CollectedOutput&) = delete;
  ~CollectedOutput();

  // Return what has come, and forget it.
  std::string TakeOutput();
  std::string TakeAside();
};

// Prints "graphnet: message" on the standard error. The message is that of a status, as it is.
void PrintError(absl::string_view message);
// Returns the line that PrintError prints, for the lines behind a report.
std::string ErrorLine(absl::string_view message);
// Prints "warning: text" on the standard error.
void PrintWarning(absl::string_view text);
// Prints "note: text" on the standard error.
void PrintNote(absl::string_view text);
// Returns the line that PrintNote prints, for output that must be whole before it is printed.
std::string NoteLine(absl::string_view text);

}  // namespace graphnet

#endif  // GRAPHNET_COMMAND_MESSAGES_H_
