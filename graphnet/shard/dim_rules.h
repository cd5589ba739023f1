// Operators that move and cut dimensions of one tensor, by its sizes. Negative dimensions
// count from the end; those out of range or given twice are InvalidArgument.
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

// Each from 0 on, below `rank`.
absl::StatusOr<std::vector<size_t>> NormalDims(absl::Span<const int64_t> dims, size_t rank);

// What a slice takes of each of its axes.
struct SliceRange {
  int64_t start = 0;
  int64_t end = 0;
  int64_t step = 1;
};
// The sliced axes stay whole; those of `decrease_axes` are gone. Where it starts and ends does
// not matter, but for a slice of the last dimension alone by a step: if that runs over all of
// it and divides the local extent, the dimension may stay divided.
absl::StatusOr<ShardingRule> SliceRule(SizeSpan sizes, SizeSpan axes, SizeSpan decrease_axes = {},
                                       absl::Span<const SliceRange> ranges = {});
// `start` to `stop` as one.
absl::StatusOr<ShardingRule> FlattenRule(SizeSpan sizes, int64_t start, int64_t stop);
// Without those of `axes` that have size 1; none given: without all of size 1. The second
// result is Paddle's xshape: 0 and the sizes of the operand.
absl::StatusOr<ShardingRule> SqueezeRule(SizeSpan sizes, SizeSpan axes);
// `axes` of the result, all counted as for one more dimension than the operand has, and
// from 0 on for the dimensions of the result.
absl::StatusOr<ShardingRule> UnsqueezeRule(SizeSpan sizes, SizeSpan axes);
// The same elements in other sizes. Where a size is unknown or 0, nothing is divided.
ShardingRule ReshapeRule(SizeSpan from, SizeSpan to);

}  // namespace graphnet::spmd

#endif  // GRAPHNET_SHARD_DIM_RULES_H_
