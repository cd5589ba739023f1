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

// Nodes are numbered in program order: the placeholders, then the operators, then
// the output. The graph must verify, and outlive this object unchanged.
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
  // The last node that takes node i; 0 without one, as no placeholder has operands.
  size_t last_use(size_t i) const { return last_use_[i]; }

  size_t num_placeholders() const { return num_placeholders_; }
  int64_t num_operators() const { return static_cast<int64_t>(output() - num_placeholders_); }
  // The node that operator `k` is; for the number of operators, the output.
  size_t operator_node(int64_t k) const { return num_placeholders_ + static_cast<size_t>(k); }
  size_t output() const { return nodes_.size() - 1; }

 private:
  std::vector<Node*> nodes_;
  absl::flat_hash_map<const Node*, uint32_t> index_;
  std::vector<size_t> first_operand_;
  std::vector<uint32_t> operands_;
  std::vector<uint32_t> last_use_;
  size_t num_placeholders_ = 0;
};

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_GRAPH_INDEX_H_
