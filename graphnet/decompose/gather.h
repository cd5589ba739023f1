// Gathers nodes that stand apart to a range, which can be cut out.
#ifndef GRAPHNET_DECOMPOSE_GATHER_H_
#define GRAPHNET_DECOMPOSE_GATHER_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graphnet/decompose/range_decomposer.h"

namespace graphnet {

// Moves what stands between the operators among `nodes`, which are of one graph that verifies:
// behind them what uses their values, in front of them all else. So the graph computes what it
// did. InvalidArgument without operators; errors of FindSubgraph (ir/outline.h), as
// FailedPrecondition for nodes that are not convex, or if a move would change what is seen in
// memory that the graph writes to.
absl::StatusOr<Range> GatherNodes(absl::Span<Node* const> nodes);

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_GATHER_H_
