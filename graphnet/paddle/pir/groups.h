// Groups of operations that make one kernel, in a graph in PIR's terms: element-wise operators and
// the reductions of their results. Sizes are numbers or symbols, and equal sizes must be written
// alike.
#ifndef GRAPHNET_PADDLE_PIR_GROUPS_H_
#define GRAPHNET_PADDLE_PIR_GROUPS_H_

#include <cstddef>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graphnet/ir/graph.h"

namespace graphnet::pir {

enum class GroupKind { kNone, kElementwise, kReduction };

// Returns the kind of an operation; kNone also if its sizes are not known.
GroupKind GroupKindOf(const Node& node);
// Returns whether a node is a constant that kernels take as a number, which is a pd_op.full of at
// most one element, and sets `*value`.
bool IsScalarConstant(const Node& node, double* value);

// A group, or a single node outside of all groups, such as a constant. Nodes are in graph order.
struct Unit {
  bool is_group = false;
  std::vector<Node*> nodes;
};

// Returns the nodes of a graph except placeholders, results of operations (builder.h) and the
// output, ordered so that each unit comes after its operands. A node joins the groups of its
// operands and merges them where that is allowed: no path from a value of a group to another value
// of it may leave the group, no node in it may take the result of a reduction in it, and no
// operation with effects may lie between. A group has at least one operation. At worst O(nodes) for
// each node that joins.
std::vector<Unit> GroupsOf(const Graph& graph);

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_GROUPS_H_
