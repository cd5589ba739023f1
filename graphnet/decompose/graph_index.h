// GraphIndex: the nodes of a graph by number, with what the cutting of it asks
// of each again and again.
#ifndef GRAPHNET_DECOMPOSE_GRAPH_INDEX_H_
#define GRAPHNET_DECOMPOSE_GRAPH_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "graphnet/ir/graph.h"

namespace graphnet {

// Whether a node is an operator, one of those that ranges count: all but placeholders, get_attrs
// and the output. To read an attribute is no work: the same program has its weights as attributes
// in one format and as inputs in another, and is cut alike in both.
inline bool IsOperator(const Node& node) {
  return !node.is_placeholder() && node.op() != Op::kGetAttr && !node.is_output();
}

// Nodes are numbered: the placeholders, then the get_attrs, then the operators, then the output;
// each in program order. The graph must verify, and outlive this object unchanged.
class GraphIndex {
 public:
  // O(nodes and operands).
  explicit GraphIndex(const Graph& graph);

  size_t size() const { return nodes_.size(); }
  Node* node(size_t i) const { return nodes_[i]; }
  size_t IndexOf(const Node* node) const { return index_.at(node); }
  // With repeats, in the order of Node::ForEachOperand.
  absl::Span<const uint32_t> operands(size_t i) const {
    return absl::MakeConstSpan(operands_).subspan(first_operand_[i],
                                                  first_operand_[i + 1] - first_operand_[i]);
  }
  // The last node that takes node i; 0 without one, as nodes without operands come first.
  size_t last_use(size_t i) const { return last_use_[i]; }

  size_t num_placeholders() const { return num_placeholders_; }
  bool is_get_attr(size_t i) const { return num_placeholders_ <= i && i < first_operator_; }
  // The operator, or the output, that get_attr `i` stands in front of.
  size_t behind_get_attr(size_t i) const {
    return first_operator_ + operators_before_[i - num_placeholders_];
  }
  int64_t num_operators() const { return operator_of(output()); }
  // The node that operator `k` is; for the number of operators, the output.
  size_t operator_node(int64_t k) const { return first_operator_ + static_cast<size_t>(k); }
  // The operator that node `i` is; below 0 if it comes before all operators.
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
  std::vector<uint32_t> operators_before_;  // of each get_attr
};

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_GRAPH_INDEX_H_
