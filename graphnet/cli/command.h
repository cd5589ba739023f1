// What a command of the tool is: a subcommand that, when chosen, leaves behind a
// function that does the work.
#ifndef GRAPHNET_CLI_COMMAND_H_
#define GRAPHNET_CLI_COMMAND_H_

#include <functional>

#include "absl/status/statusor.h"

namespace graphnet {

// Yields the exit code: 0 done, 1 a check failed. An error is printed as one
// line and exits with 2.
using CommandRunner = std::function<absl::StatusOr<int>()>;

}  // namespace graphnet

#endif  // GRAPHNET_CLI_COMMAND_H_
