// `graphnet decompose IN -o DIR`: cuts samples into pieces.
#ifndef GRAPHNET_CLI_DECOMPOSE_H_
#define GRAPHNET_CLI_DECOMPOSE_H_

#include "CLI/CLI.hpp"
#include "graphnet/cli/command.h"

namespace graphnet {

void RegisterDecompose(CLI::App& app, CommandRunner* run);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_DECOMPOSE_H_
