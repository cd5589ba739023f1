// `graphnet check IN...`: every input through every form and back.
#ifndef GRAPHNET_CLI_CHECK_H_
#define GRAPHNET_CLI_CHECK_H_

#include "CLI/CLI.hpp"
#include "graphnet/cli/command.h"

namespace graphnet {

void RegisterCheck(CLI::App& app, CommandRunner* run);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_CHECK_H_
