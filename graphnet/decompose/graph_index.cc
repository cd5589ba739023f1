#include "graphnet/decompose/graph_index.h"

namespace graphnet {

GraphIndex::GraphIndex(const Graph& graph) {
  nodes_.reserve(graph.num_nodes());
  index_.reserve(graph.num_nodes());
  first_operand_.reserve(graph.num_nodes() + 1);
  last_use_.resize(graph.num_nodes());
  for (Node* node : graph.nodes()) {
    const auto i = static_cast<uint32_t>(nodes_.size());
    num_placeholders_ += node->is_placeholder() ? 1 : 0;
    first_operand_.push_back(operands_.size());
    node->ForEachOperand([&](const Node* operand) {
      const uint32_t o = index_.at(operand);
      operands_.push_back(o);
      last_use_[o] = i;
    });
    index_.emplace(node, i);
    nodes_.push_back(node);
  }
  first_operand_.push_back(operands_.size());
}

}  // namespace graphnet
