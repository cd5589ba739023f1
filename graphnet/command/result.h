// CommandResult is what a command returns.
#ifndef GRAPHNET_COMMAND_RESULT_H_
#define GRAPHNET_COMMAND_RESULT_H_

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "graphnet/base/report.h"

namespace graphnet {

// The result of a command.
struct CommandResult {
  // Makes the result of a command that found something.
  CommandResult(Report found, int exit_code = 0, std::string lines = "")  // NOLINT: implicit
      : report(std::move(found)), code(exit_code), aside(std::move(lines)) {}
  // Makes the result of a command that has printed by itself.
  CommandResult(int exit_code) : code(exit_code) {}  // NOLINT: implicit

  // Shown as JSON with --json, otherwise as text: on the standard error if --out - fills the other.
  std::optional<Report> report;
  int code = 0;        // 0 for success, 1 if a check failed, 2 if one of many inputs cannot be used
  std::string aside;   // lines for the standard error, behind the report
  absl::Status error;  // an error to print behind the text of the report, or instead of its JSON
  std::string text = "";  // what the tool prints on the standard output; set by CallCommand
};

}  // namespace graphnet

#endif  // GRAPHNET_COMMAND_RESULT_H_
