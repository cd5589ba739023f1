// Sharding rules of operators that move and cut dimensions of one tensor, by its sizes. Negative
// dimensions count from the end. Dimensions that are out of range or given twice are
// InvalidArgument.
#ifndef GRAPHNET_SHARD_DIM_RULES_H_
#define GRAPHNET_SHARD_DIM_RULES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graphnet/shard/sharding_rule.h"

namespace graphnet::spmd {

using SizeSpan = absl::Span<const int64_t>;

// Returns `dims` as indices from 0 to `rank` - 1.
absl::StatusOr<std::vector<size_t>> NormalDims(absl::Span<const int64_t> dims, size_t rank);

// The elements that a slice takes along one axis.
struct SliceRange {
  int64_t start = 0;
  int64_t end = 0;
  int64_t step = 1;
};
// Rule of a slice: the sliced axes stay whole, and those of `decrease_axes` are removed. The ranges
// matter only if the last dimension alone is sliced by a step: if the slice runs over all of the
// dimension and the step divides the local extent, the dimension may stay divided.
absl::StatusOr<ShardingRule> SliceRule(SizeSpan sizes, SizeSpan axes, SizeSpan decrease_axes = {},
                                       absl::Span<const SliceRange> ranges = {});
// Rule of flattening the dimensions from `start` to `stop`, both included, into one.
absl::StatusOr<ShardingRule> FlattenRule(SizeSpan sizes, int64_t start, int64_t stop);
// Rule of removing those of `axes` that have size 1, or all dimensions of size 1 if `axes` is
// empty. The second result is Paddle's xshape: 0 and the sizes of the operand.
absl::StatusOr<ShardingRule> SqueezeRule(SizeSpan sizes, SizeSpan axes);
// Rule of inserting dimensions of size 1. Negative `axes` count from the end of a tensor with one
// more dimension than the operand has; others are dimensions of the result.
absl::StatusOr<ShardingRule> UnsqueezeRule(SizeSpan sizes, SizeSpan axes);
// Rule of a reshape. If a size is unknown or 0, nothing is divided.
ShardingRule ReshapeRule(SizeSpan from, SizeSpan to);

}  // namespace graphnet::spmd

#endif  // GRAPHNET_SHARD_DIM_RULES_H_
