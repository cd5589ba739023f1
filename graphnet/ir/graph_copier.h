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
  // Asked for each body before it is copied: a graph of `to` that serves
  // already, or null.
  using Lookup = std::function<Graph*(Graph*)>;

  explicit GraphCopier(Module* to, Lookup lookup = nullptr) : to_(to), lookup_(std::move(lookup)) {}

  // The one copy of `graph`, under its name if that is free; empty until Finish.
  Graph* CopyOf(Graph* graph);
  // Fills the copies, without recursion however deep bodies nest. Afterwards
  // more may be asked for, which takes another Finish.
  void Finish();

  // The bodies that were copied, each with its copy; not those that served
  // already.
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
