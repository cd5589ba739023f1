// Finds out which nodes of two graphs match, so that they can be compared.
#ifndef GRAPHNET_IDENTITY_MATCH_NODES_H_
#define GRAPHNET_IDENTITY_MATCH_NODES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/node.h"
#include "graphnet/ir/node_table.h"

namespace graphnet {

// The partner of a node that has none.
inline constexpr int kNoPartner = -1;

// One of the two graphs. Its nodes are numbered in program order.
struct Side {
  explicit Side(const Graph& graph);

  absl::Span<const int> Operands(int i) const {
    const size_t first = first_operand[static_cast<size_t>(i)];
    return absl::MakeConstSpan(operands).subspan(first,
                                                 first_operand[static_cast<size_t>(i) + 1] - first);
  }
  const Node& node(int i) const { return *nodes[static_cast<size_t>(i)]; }
  int size() const { return static_cast<int>(nodes.size()); }
  int& Partner(int i) { return partner[static_cast<size_t>(i)]; }
  bool IsFree(int i) const { return partner[static_cast<size_t>(i)] == kNoPartner; }
  bool IsAttribute(int i) const { return node(i).op() == Op::kGetAttr; }

  std::vector<const Node*> nodes;
  NodeTable<int> index;
  std::vector<int> partner;     // the matching node of the other side, or kNoPartner
  std::vector<uint64_t> kind;   // hash of the operator
  std::vector<uint64_t> label;  // hash of the operator and its constants
  std::vector<uint64_t> down;   // hash of the label and everything that the node depends on
  std::vector<uint64_t> up;     // hash of the label and everything that depends on the node
  std::vector<int> operands;
  std::vector<size_t> first_operand;
};

// Matches nodes of `a` with nodes of `b`, first those of which there is one on each side, then
// what follows from them, and at last the ones that are only alike. Sets the partners of both.
void MatchNodes(Side* a, Side* b);

}  // namespace graphnet

#endif  // GRAPHNET_IDENTITY_MATCH_NODES_H_
