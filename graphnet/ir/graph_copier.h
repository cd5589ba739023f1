// GraphCopier: copies bodies, and the bodies that they refer to, into a module.
//
//   GraphCopier copier(module);
//   graph->CopyNodeFrom(*node, map, [&](Graph* body) { return copier.CopyOf(body); });
//   …
//   copier.Finish();
#ifndef GRAPHNET_IR_GRAPH_COPIER_H_
#define GRAPHNET_IR_GRAPH_COPIER_H_

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "graphnet/ir/module.h"

namespace graphnet {

class GraphCopier {
 public:
  // Called for each body before it is copied. Returns a graph of `to` to use instead of a copy,
  // or null.
  using Lookup = std::function<Graph*(Graph*)>;

  explicit GraphCopier(Module* to, Lookup lookup = nullptr) : to_(to), lookup_(std::move(lookup)) {}

  // Returns the one copy of `graph`, which has its name if that is free. The copy is empty until
  // Finish.
  Graph* CopyOf(Graph* graph);
  // Fills the copies, without recursion. After a later CopyOf, call it again.
  void Finish();

  // The bodies that were copied, each with its copy. Bodies that `lookup` replaced are not here.
  absl::Span<const std::pair<Graph*, Graph*>> copied() const { return queue_; }

 private:
  Module* to_;
  Lookup lookup_;
  absl::flat_hash_map<const Graph*, Graph*> copies_;
  std::vector<std::pair<Graph*, Graph*>> queue_;
  size_t filled_ = 0;
};

}  // namespace graphnet

#endif  // GRAPHNET_IR_GRAPH_COPIER_H_
