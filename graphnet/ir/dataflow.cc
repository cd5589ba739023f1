#include "graphnet/ir/dataflow.h"

#include <algorithm>

namespace graphnet {

Dataflow::Dataflow(const Graph& graph)
    : graph_(graph),
      last_use_(*graph.module()),
      dominators_(*graph.module()),
      post_dominators_(*graph.module()) {
  std::vector<const Node*> nodes;
  for (const Node* node : graph.nodes()) nodes.push_back(node);
  const auto place = [](NodeTable<Place>& tree, const Node* node, const Node* nearest) {
    tree[node] = {nearest, nearest == nullptr ? 1 : tree[nearest].depth + 1};
  };
  for (const Node* node : nodes) {
    const Node* nearest = nullptr;
    bool is_first = true;
    node->ForEachOperand([&](const Node* operand) {
      last_use_[operand] = node;
      nearest = is_first ? operand : Join(dominators_, nearest, operand);
      is_first = false;
    });
    place(dominators_, node, nearest);
  }
  std::reverse(nodes.begin(), nodes.end());
  for (const Node* node : nodes) {
    const Node* nearest = nullptr;
    bool is_first = true;
    for (const Node* user : node->users()) {
      nearest = is_first ? user : Join(post_dominators_, nearest, user);
      is_first = false;
    }
    place(post_dominators_, node, nearest);
  }
}

const Node* Dataflow::Join(const NodeTable<Place>& tree, const Node* a, const Node* b) {
  while (a != b) {
    if (a == nullptr || b == nullptr) return nullptr;
    const Node*& deeper = tree[a].depth >= tree[b].depth ? a : b;
    deeper = tree[deeper].nearest;
  }
  return a;
}

std::vector<const Node*> Dataflow::LiveBehind(const Node* node) const {
  std::vector<const Node*> live;
  for (const Node* value : graph_.nodes()) {
    if (node->IsBefore(value)) break;
    const Node* const last = last_use_[value];
    if (last != nullptr && node->IsBefore(last)) live.push_back(value);
  }
  return live;
}

}  // namespace graphnet
