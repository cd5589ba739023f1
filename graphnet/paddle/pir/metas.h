// Internal to the lowering: infers the metas of values.
#ifndef GRAPHNET_PADDLE_PIR_METAS_H_
#define GRAPHNET_PADDLE_PIR_METAS_H_

#include "graphnet/ir/module.h"

namespace graphnet::pir {

// Sets metas that facts/shapes/tensor_facts.h infers for the nodes of a module that have none. Each
// unknown size becomes a symbol of its own.
void AddMetas(Module* module);

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_METAS_H_
