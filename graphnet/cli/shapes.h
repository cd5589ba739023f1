// `graphnet shapes IN`: the graph with the shape and dtype of every value.
#ifndef GRAPHNET_CLI_SHAPES_H_
#define GRAPHNET_CLI_SHAPES_H_

#include "graphnet/cli/command.h"

namespace CLI {
class App;
}

namespace graphnet {

void RegisterShapes(CLI::App& app, CommandRunner* run);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_SHAPES_H_
