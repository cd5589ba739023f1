// `graphnet convert IN OUT`: from any format to any other.
#ifndef GRAPHNET_CLI_CONVERT_H_
#define GRAPHNET_CLI_CONVERT_H_

#include "CLI/CLI.hpp"
#include "graphnet/cli/command.h"

namespace graphnet {

void RegisterConvert(CLI::App& app, CommandRunner* run);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_CONVERT_H_
