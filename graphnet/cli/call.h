// Calls the commands of the tool as functions. What a command finds is returned, and not printed.
//
//   const absl::StatusOr<CommandResult> found = CallCommand({"stats", "samples/bert.pb"});
//   if (found.ok()) std::cout << found->text;
//   const absl::StatusOr<CommandResult> told = CallCommand({"stats", "samples/bert.pb", "--json"});
//   if (told.ok()) std::cout << told->report->ToJson().Dump();
//
// The names, operands and options of all commands are in docs/commands.md.
#ifndef GRAPHNET_CLI_CALL_H_
#define GRAPHNET_CLI_CALL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/command/result.h"

namespace graphnet {

// Calls a command. `words` are its name and arguments, as a shell passes them to the tool. The
// report has all members for JSON if --json is among them; `text` is the output of the tool in
// either form, and `aside` what the tool prints on the standard error.
//
// InvalidArgument if the words are wrong. Other errors are those of the command, which the tool
// prints as one line; so is CommandResult::error. Options that hold until the process ends are
// InvalidArgument: --library, --schema and --trust-files. Output to "-" goes to the standard output
// of the process. Calls from several threads run one after the other.
absl::StatusOr<CommandResult> CallCommand(const std::vector<std::string>& words);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_CALL_H_
