// Tensors that enter a level of vmap and leave it unchanged.
#ifndef GRAPHNET_PASSES_VMAP_ROUND_TRIPS_H_
#define GRAPHNET_PASSES_VMAP_ROUND_TRIPS_H_

#include <vector>

#include "graphnet/ir/graph.h"
#include "graphnet/ir/node.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/passes/vmap/vmap_call.h"

namespace graphnet {

// The role of each call: it opens or closes a level, adds or removes a dimension, or neither.
using NestingCalls = NodeTable<NestingCall>;

// A tensor that enters a level and leaves it at the same dimension is unchanged. Tracers, which
// identify values by their tensors, may write the removal where the level uses the tensor itself.
// This puts the tensor there instead, until Undo().
class RoundTrips {
 public:
  explicit RoundTrips(const NestingCalls& calls) : calls_(calls) {}

  void Replace(Graph* graph);

  void Undo();

 private:
  // Returns the tensor that had no batch dimension before; null if the removal yields another one.
  Node* TensorOf(const Node& remove) const;

  void ReplaceIn(Node* removed, Node* tensor, const Node* end);

  struct Replaced {
    Node* user;
    int operand;
    Node* removed;
  };
  const NestingCalls& calls_;
  std::vector<Replaced> replaced_;
};

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_VMAP_ROUND_TRIPS_H_
