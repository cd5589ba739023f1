// graphnet validate: proves that the pieces of a decomposition are the whole.
#ifndef GRAPHNET_CLI_VALIDATE_H_
#define GRAPHNET_CLI_VALIDATE_H_

#include "CLI/CLI.hpp"
#include "graphnet/cli/command.h"

namespace graphnet {

void RegisterValidate(CLI::App& app, CommandRunner* run);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_VALIDATE_H_
