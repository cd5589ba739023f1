// Which operations of a graph in PIR's terms make one kernel: operators that work element by
// element, and the sums (and their like) of what they yield. Sizes are numbers or symbols; those
// that are the same are written alike.
#ifndef GRAPHNET_PADDLE_PIR_GROUPS_H_
#define GRAPHNET_PADDLE_PIR_GROUPS_H_

#include <cstddef>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graphnet/ir/graph.h"

namespace graphnet::pir {

enum class GroupKind { kNone, kElementwise, kReduction };

// What an operation is: kNone also if its sizes are not known.
GroupKind GroupKindOf(const Node& node);
// A constant that kernels are given as a number: pd_op.full of no more than one element.
bool IsScalarConstant(const Node& node, double* value);

// A group, or one node that is in none, constants included; the nodes in the order of the graph.
struct Unit {
  bool is_group = false;
  std::vector<Node*> nodes;
};

// The nodes of a graph but placeholders, results of operations (builder.h) and the output, in an
// order in which each comes after what it takes. A node joins the groups of the values that it takes,
// and they become one, as far as they may: no value of a group reaches another of it around the
// group, nothing in it takes the result of a reduction in it, and no operation with effects lies
// between. A group has at least one operation. O(nodes) for each node that joins, at worst.
std::vector<Unit> GroupsOf(const Graph& graph);

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_GROUPS_H_
