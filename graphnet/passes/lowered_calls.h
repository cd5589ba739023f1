// Internal to passes that change parameters of calls: what a call means, whatever its spelling.
#ifndef GRAPHNET_PASSES_LOWERED_CALLS_H_
#define GRAPHNET_PASSES_LOWERED_CALLS_H_

#include "graphnet/ir/module.h"
#include "graphnet/ops/lowering.h"

namespace graphnet {

// Goes between the calls of a graph and the calls of operators that they are lowered to. It holds a
// reference to `lowered`, and knows only nodes that were there when the graph was lowered.
class LoweredCalls {
 public:
  explicit LoweredCalls(const LoweredModule& lowered) : lowered_(lowered) {}

  // Returns the call of an operator that `node` stands for; null if it stands for another value.
  const Node* Of(const Node* node) const {
    if (!node->is_call()) return nullptr;
    const Argument& value = lowered_.values[node];
    return value.is_node() && value.node()->is_call() && lowered_.origins[value.node()] == node
               ? value.node()
               : nullptr;
  }

  // Returns the node of `graph` whose value a lowered call passes; null if it passes no such value.
  Node* Original(const Graph& graph, const Argument* value) const {
    if (value == nullptr || !value->is_node()) return nullptr;
    const Node* const origin = lowered_.origins[value->node()];
    if (origin == nullptr || !(lowered_.values[origin] == *value)) return nullptr;
    return graph.FindNode(origin->name());
  }

 private:
  const LoweredModule& lowered_;
};

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_LOWERED_CALLS_H_
