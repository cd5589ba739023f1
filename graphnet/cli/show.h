// `graphnet show IN`: one input, for people to read.
#ifndef GRAPHNET_CLI_SHOW_H_
#define GRAPHNET_CLI_SHOW_H_

#include "CLI/CLI.hpp"
#include "graphnet/cli/command.h"

namespace graphnet {

void RegisterShow(CLI::App& app, CommandRunner* run);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_SHOW_H_
