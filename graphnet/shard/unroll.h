// Rewrites a sharded graph for a single process: each rank's part of a value becomes a value of its
// own, and communication becomes slices, concatenations and sums. Any program that runs graphs thus
// runs all ranks. The result is bit by bit that of the graph before sharding, apart from sums that
// are added in another order.
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

// The value of each rank.
using RankValues = std::map<int, Node*>;

// Inserts calls of ATen operators that combine partial values into one, which it returns.
Node* ReduceParts(absl::Span<Node* const> parts, ReduceType type, Graph* graph);

// Inserts calls of ATen operators for the steps of `plan`, on a tensor of `sizes`, at the insertion
// point of `graph`. Returns the values of the ranks after them.
RankValues Unroll(const ReshardPlan& plan, absl::Span<const int64_t> sizes, RankValues values,
                  Graph* graph);

// Unrolls a graph that PropagateShardings (propagate.h) made or that was read from its text. Inputs
// and outputs are whole tensors. Values that all ranks compute alike are computed once.
// InvalidArgument if annotations are wrong or contradict each other, and for a graph over several
// meshes; use JoinRanks (join_ranks.h) for that.
absl::StatusOr<std::unique_ptr<Module>> UnrollRanks(const Module& sharded);

}  // namespace graphnet::spmd

#endif  // GRAPHNET_SHARD_UNROLL_H_
