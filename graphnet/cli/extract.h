// `graphnet extract`: the subgraphs of a TorchScript program.
#ifndef GRAPHNET_CLI_EXTRACT_H_
#define GRAPHNET_CLI_EXTRACT_H_

#include "graphnet/cli/command.h"

namespace CLI {
class App;
}

namespace graphnet {

void RegisterExtract(CLI::App& app, CommandRunner* run);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_EXTRACT_H_
