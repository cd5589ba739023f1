#include "graphnet/ir/graph_copier.h"

#include "graphnet/ir/graph.h"

namespace graphnet {

Graph* GraphCopier::CopyOf(Graph* graph) {
  const auto [it, inserted] = copies_.try_emplace(graph, nullptr);
  if (!inserted) return it->second;
  if (lookup_ != nullptr) it->second = lookup_(graph);
  if (it->second == nullptr) {
    it->second = to_->AddGraph(graph->name());
    queue_.push_back({graph, it->second});
  }
  return it->second;
}

void GraphCopier::Finish() {
  absl::flat_hash_map<const Node*, Node*> nodes;
  for (; filled_ < queue_.size(); ++filled_) {
    const auto [from, to] = queue_[filled_];
    nodes.clear();
    for (Node* node : from->nodes()) {
      nodes[node] = to->CopyNodeFrom(
          *node, [&](Node* n) { return nodes.at(n); }, [&](Graph* g) { return CopyOf(g); });
    }
  }
}

}  // namespace graphnet
