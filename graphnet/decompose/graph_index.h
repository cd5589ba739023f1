// GraphIndex: the nodes of a graph by number, with the facts about each that cutting often needs.
#ifndef GRAPHNET_DECOMPOSE_GRAPH_INDEX_H_
#define GRAPHNET_DECOMPOSE_GRAPH_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "graphnet/ir/graph.h"

namespace graphnet {

// Returns whether a node is an operator, which ranges count: any node but a placeholder, a get_attr
// or the output. A get_attr does not count because some formats hold weights as attributes and
// others as inputs, and a program is cut alike in both.
inline bool IsOperator(const Node& node) {
  return !node.is_placeholder() && node.op() != Op::kGetAttr && !node.is_output();
}

// Numbers the nodes of a graph: the placeholders, then the get_attrs, then the operators, then the
// output; each in program order. The graph must verify and outlive this object unchanged.
class GraphIndex {
 public:
  // O(nodes and operands).
  explicit GraphIndex(const Graph& graph);

  size_t size() const { return nodes_.size(); }
  Node* node(size_t i) const { return nodes_[i]; }
  size_t IndexOf(const Node* node) const { return index_.at(node); }
  // The operands of node i, with repeats, in the order of Node::ForEachOperand.
  absl::Span<const uint32_t> operands(size_t i) const {
    return absl::MakeConstSpan(operands_).subspan(first_operand_[i],
                                                  first_operand_[i + 1] - first_operand_[i]);
  }
  // The last node that takes node i; 0 if there is none, which is unambiguous because node 0 has no
  // operands.
  size_t last_use(size_t i) const { return last_use_[i]; }

  size_t num_placeholders() const { return num_placeholders_; }
  bool is_get_attr(size_t i) const { return num_placeholders_ <= i && i < first_operator_; }
  // The first operator, or the output, that follows get_attr `i` in the graph.
  size_t behind_get_attr(size_t i) const {
    return first_operator_ + operators_before_[i - num_placeholders_];
  }
  int64_t num_operators() const { return operator_of(output()); }
  // The node of operator `k`; the output if `k` is the number of operators.
  size_t operator_node(int64_t k) const { return first_operator_ + static_cast<size_t>(k); }
  // The operator number of node `i`; negative for placeholders and get_attrs.
  int64_t operator_of(size_t i) const {
    return static_cast<int64_t>(i) - static_cast<int64_t>(first_operator_);
  }
  size_t output() const { return nodes_.size() - 1; }

 private:
  std::vector<Node*> nodes_;
  absl::flat_hash_map<const Node*, uint32_t> index_;
  std::vector<size_t> first_operand_;
  std::vector<uint32_t> operands_;
  std::vector<uint32_t> last_use_;
  size_t num_placeholders_ = 0;
  size_t first_operator_ = 0;
  std::vector<uint32_t> operators_before_;  // by get_attr
};

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_GRAPH_INDEX_H_
