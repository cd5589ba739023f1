// What can be known without running of all values of a lowered module (facts/shapes/tensor_facts.h):
// from metas where there are some, else from what calls take.
#ifndef GRAPHNET_FACTS_SHAPES_FACTS_TABLE_H_
#define GRAPHNET_FACTS_SHAPES_FACTS_TABLE_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "graphnet/facts/shapes/tensor_facts.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/ops/lowering.h"

namespace graphnet {

class FactsTable {
 public:
  // Of the main graph and of the bodies that vmap calls reach from it; of calls that
  // lowering `refused`, as of all that is not called as it should be, nothing. O(nodes).
  FactsTable(const LoweredModule& lowered, const RefusedCalls& refused);

  // Of a node of the lowered module.
  const TensorFacts& Of(const Node* node) const { return facts_[node]; }
  // Whether calls of `body` differ in the facts of their operands: then nothing in it
  // is known.
  bool IsAmbiguous(const Graph* body) const { return ambiguous_.contains(body); }

 private:
  void AddGraph(const Graph& graph, absl::Span<const TensorFacts> parameters);
  // Of tensors whose sizes a call changes in place, and of all that may be such a tensor, the
  // sizes are not known.
  void FindChangedSizes(const Graph& graph);
  TensorFacts OfCall(const Node& node);
  TensorFacts OfFunction(const Node& node);
  TensorFacts OfVmap(const Node& call);
  TensorFacts OfSubscript(const Node& call) const;
  TensorFacts OfArgument(const Argument& argument) const;

  const LoweredModule& lowered_;
  const RefusedCalls& refused_;
  NodeTable<TensorFacts> facts_;
  NodeTable<bool> changes_sizes_;
  absl::flat_hash_map<const Graph*, std::vector<TensorFacts>> parameters_;
  absl::flat_hash_map<const Graph*, bool> ambiguous_;
  // Of the results of calls that yield several.
  absl::flat_hash_map<const Node*, std::vector<TensorFacts>> elements_;
};

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_SHAPES_FACTS_TABLE_H_
