#ifndef GRAPHNET_CLI_ENGINE_ENTRY_H_
#define GRAPHNET_CLI_ENGINE_ENTRY_H_

#include "graphnet/cli/engine.h"

namespace graphnet {

const Engine* TheEngine();

}  // namespace graphnet

#endif  // GRAPHNET_CLI_ENGINE_ENTRY_H_
