// `graphnet compose DIR -o OUT`: puts the pieces of a sample together again.
#ifndef GRAPHNET_CLI_COMPOSE_H_
#define GRAPHNET_CLI_COMPOSE_H_

#include "CLI/CLI.hpp"
#include "graphnet/cli/command.h"

namespace graphnet {

void RegisterCompose(CLI::App& app, CommandRunner* run);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_COMPOSE_H_
