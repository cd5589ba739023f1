#include "graphnet/decompose/graph_index.h"

namespace graphnet {

GraphIndex::GraphIndex(const Graph& graph) {
  nodes_.reserve(graph.num_nodes());
  index_.reserve(graph.num_nodes());
  first_operand_.reserve(graph.num_nodes() + 1);
  last_use_.resize(graph.num_nodes());
  const auto add = [this](Node* node) {
    const auto i = static_cast<uint32_t>(nodes_.size());
    first_operand_.push_back(operands_.size());
    node->ForEachOperand([&](const Node* operand) {
      const uint32_t o = index_.at(operand);
      operands_.push_back(o);
      last_use_[o] = i;
    });
    index_.emplace(node, i);
    nodes_.push_back(node);
  };
  for (Node* node : graph.nodes()) {
    if (node->is_placeholder()) add(node);
  }
  num_placeholders_ = nodes_.size();
  uint32_t operators = 0;
  for (Node* node : graph.nodes()) {
    operators += IsOperator(*node) ? 1 : 0;
    if (node->op() != Op::kGetAttr) continue;
    operators_before_.push_back(operators);
    add(node);
  }
  first_operator_ = nodes_.size();
  for (Node* node : graph.nodes()) {
    if (!node->is_placeholder() && node->op() != Op::kGetAttr) add(node);
  }
  first_operand_.push_back(operands_.size());
}

}  // namespace graphnet
