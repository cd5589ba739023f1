// Groups the nodes that a backend can run, so that each group can become one call:
//
//   const auto is_supported = [](const Node& node) { return node.target() == "torch.relu"; };
//   ASSIGN_OR_RETURN(const auto groups, Partition(graph, is_supported));
//   for (const std::vector<Node*>& group : groups)
//     RETURN_IF_ERROR(Outline(group, "torch.ops.higher_order.wrap", "group").status());
//
// The interpreter hands such a call to a backend (CompileOptions::backend in interp/executable.h).
#ifndef GRAPHNET_DECOMPOSE_PARTITION_H_
#define GRAPHNET_DECOMPOSE_PARTITION_H_

#include <cstddef>
#include <functional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graphnet/ir/graph.h"

namespace graphnet {

// Settings of Partition.
struct PartitionOptions {
  size_t min_operators = 1;  // smaller groups are left out
  // Returns whether two groups, of which the second uses values of the first, become one; null if all
  // of them do. Groups that exchange most values are asked first.
  std::function<bool(absl::Span<Node* const> first, absl::Span<Node* const> second)> merges;
};

// Returns disjoint groups of the supported operators of a graph, each in program order, in the order of
// their first nodes. Every group is connected and convex, and the groups together make no cycle, so that
// all of them can be outlined (ir/outline.h), one after the other. Calls keep their order on memory that
// the graph writes to (decompose/mutation.h), and none moves over a call that opens or closes a region or
// sets a mode, such as autocast. `is_supported` is asked once for each operator; placeholders, get_attrs
// and the output are in no group. A get_attr is an operand like any other: Outline makes it an input.
//
// Groups are as large as joining pairs of them can make them. In graphs where that takes more steps than
// 256 for each node and operand, some pairs stay apart. The graph must verify. InvalidArgument if it has
// no output.
absl::StatusOr<std::vector<std::vector<Node*>>> Partition(
    Graph* graph, absl::FunctionRef<bool(const Node&)> is_supported,
    const PartitionOptions& options = {});

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_PARTITION_H_
