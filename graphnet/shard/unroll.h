// A sharded graph as one for a single process, in which each rank's part of a value is a value
// of its own and communication is what it comes to: slices, concatenations, sums. Whatever
// runs graphs thus runs all ranks, and what the unrolled graph yields is what the graph that
// was sharded yields: bit by bit, but for sums that are added in another order.
#ifndef GRAPHNET_SHARD_UNROLL_H_
#define GRAPHNET_SHARD_UNROLL_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graphnet/ir/module.h"
#include "graphnet/shard/reshard.h"
#include "graphnet/shard/sharding.h"

namespace graphnet::spmd {

inline constexpr size_t kMaxUnrolledNodes = size_t{1} << 24;

// The value that each rank has.
using RankValues = std::map<int, Node*>;

// A call of ATen's operators that makes one value of partial ones.
Node* ReduceParts(absl::Span<Node* const> parts, ReduceType type, Graph* graph);

// Takes the steps of `plan`, on a tensor of `sizes`: calls of ATen's operators at the insertion
// point of `graph`. Yields what the ranks have then.
RankValues Unroll(const ReshardPlan& plan, absl::Span<const int64_t> sizes, RankValues values,
                  Graph* graph);

// Of a graph as PropagateShardings (propagate.h) leaves it, or as its text was read. Inputs are
// whole, and so are outputs. What all ranks compute alike is computed once. InvalidArgument
// where annotations are wrong or do not fit each other, and for a graph over several meshes, whose
// ranks JoinRanks (join_ranks.h) joins.
absl::StatusOr<std::unique_ptr<Module>> UnrollRanks(const Module& sharded);

}  // namespace graphnet::spmd

#endif  // GRAPHNET_SHARD_UNROLL_H_
