// graphnet run: runs a graph and tells or writes what comes out.
#ifndef GRAPHNET_CLI_RUN_H_
#define GRAPHNET_CLI_RUN_H_

#include "graphnet/cli/command.h"

namespace CLI {
class App;
}

namespace graphnet {

void RegisterRun(CLI::App& app, CommandRunner* run);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_RUN_H_
