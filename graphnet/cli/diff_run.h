// `graphnet diff-run A B`: the same inputs through two graphs.
#ifndef GRAPHNET_CLI_DIFF_RUN_H_
#define GRAPHNET_CLI_DIFF_RUN_H_

#include "graphnet/cli/command.h"

namespace CLI {
class App;
}

namespace graphnet {

void RegisterDiffRun(CLI::App& app, CommandRunner* run);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_DIFF_RUN_H_
