// Gathers nodes that stand apart into one range, which can be cut out.
#ifndef GRAPHNET_DECOMPOSE_GATHER_H_
#define GRAPHNET_DECOMPOSE_GATHER_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graphnet/decompose/range_decomposer.h"

namespace graphnet {

// Makes the operators among `nodes` adjacent and returns their range. Operators between them move
// behind them if they use their values, and in front of them otherwise, so the graph computes the
// same. The nodes must be of one graph, which must verify. InvalidArgument if there are no
// operators; errors of FindSubgraph (ir/outline.h), such as FailedPrecondition for nodes that are
// not convex; FailedPrecondition also if two nodes that share memory that the graph writes to would
// change their order.
absl::StatusOr<Range> GatherNodes(absl::Span<Node* const> nodes);

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_GATHER_H_
