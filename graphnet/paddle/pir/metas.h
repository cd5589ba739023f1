// Internal to the lowering: what is known of the values of a graph.
#ifndef GRAPHNET_PADDLE_PIR_METAS_H_
#define GRAPHNET_PADDLE_PIR_METAS_H_

#include "graphnet/ir/module.h"

namespace graphnet::pir {

// Gives the nodes of a module that say nothing of their values metas of what
// facts/shapes/tensor_facts.h tells of them; a size that is not known is a symbol of its own.
void AddMetas(Module* module);

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_METAS_H_
