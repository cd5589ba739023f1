// Facts about all values of a lowered module, without running it: from metas where there are some,
// otherwise from the operands (facts/shapes/tensor_facts.h).
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

// Holds references to `lowered` and `refused`, which must outlive it.
class FactsTable {
 public:
  // Covers the main graph and the bodies that it reaches through calls of vmap. Nothing is known of
  // the calls that lowering `refused`. O(nodes).
  FactsTable(const LoweredModule& lowered, const RefusedCalls& refused);

  // Returns the facts of a node of the lowered module.
  const TensorFacts& Of(const Node* node) const { return facts_[node]; }
  // Returns whether calls of `body` differ in the kind, rank or dtype of their operands. The facts
  // about nodes of such a body must not be used.
  bool IsAmbiguous(const Graph* body) const { return ambiguous_.contains(body); }

 private:
  void AddGraph(const Graph& graph, absl::Span<const TensorFacts> parameters);
  // Marks the values that may be a tensor whose sizes a call changes in place: their sizes are
  // unknown.
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
  // Facts of each result of the calls that return several.
  absl::flat_hash_map<const Node*, std::vector<TensorFacts>> elements_;
};

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_SHAPES_FACTS_TABLE_H_
