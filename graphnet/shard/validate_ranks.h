// Runs a sample and, rank by rank in one process, the programs that it was divided into, and
// compares what they return. Needs LibTorch.
#ifndef GRAPHNET_SHARD_VALIDATE_RANKS_H_
#define GRAPHNET_SHARD_VALIDATE_RANKS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/ir/sample.h"
#include "graphnet/shard/rank_output.h"
#include "graphnet/shard/shard_sample.h"

namespace graphnet {

struct RankOptions {
  uint64_t seed = 0;                 // of drawn inputs and of random operators
  std::optional<int64_t> max_bytes;  // that inputs may take; absent: half of what is free
};

// Inputs are drawn as `original` says (inputs/draw.h); each rank gets the part that the plan says,
// or what it holds already (ShardedSample::values). An output whose sums keep their order is right
// if it is bit by bit that of the original; one that adds up parts, if it is within
// kCustomaryToleranceLevel of it, or both are nan.
//
// An error if the original cannot be run, the programs cannot be joined (spmd/join_ranks.h) or
// run, or do not return as many values as the original.
absl::StatusOr<std::vector<RankOutput>> ValidateRanks(const Sample& original,
                                                      const spmd::ShardedSample& shards,
                                                      const RankOptions& options);

}  // namespace graphnet

#endif  // GRAPHNET_SHARD_VALIDATE_RANKS_H_
