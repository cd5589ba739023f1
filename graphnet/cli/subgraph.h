// `graphnet subgraph IN -o OUT`: some operators of a sample as a sample of their own.
#ifndef GRAPHNET_CLI_SUBGRAPH_H_
#define GRAPHNET_CLI_SUBGRAPH_H_

#include "CLI/CLI.hpp"
#include "graphnet/cli/command.h"

namespace graphnet {

void RegisterSubgraph(CLI::App& app, CommandRunner* run);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_SUBGRAPH_H_
