#ifndef GRAPHNET_RUN_ENGINE_ENTRY_H_
#define GRAPHNET_RUN_ENGINE_ENTRY_H_

#include "graphnet/run/engine.h"

namespace graphnet {

const Engine* TheEngine();

}  // namespace graphnet

#endif  // GRAPHNET_RUN_ENGINE_ENTRY_H_
