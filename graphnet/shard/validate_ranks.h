// Runs a sample and, in one process, the programs of its ranks, and compares their results. Needs
// LibTorch.
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

// Options of ValidateRanks.
struct RankOptions {
  uint64_t seed = 0;                 // seed of drawn inputs and of random operators
  std::optional<int64_t> max_bytes;  // limit for inputs; by default half of the free memory
};

// Compares each output of the ranks with the original. Inputs are drawn by the draw specs of
// `original` (inputs/draw.h); each rank gets its part by the plan, or the value that it has stored
// (ShardedSample::values). An exact output (LaidOutTensor::is_exact) must be bit by bit that of the
// original. Of another output, rounding must explain the difference (interp/measure_rounding.h), for
// which the sample runs some 16 to 33 times more; where that cannot be measured, the output must be
// within kCustomaryToleranceLevel, where nan equals nan.
//
// Returns an error if the original cannot be run, if the programs cannot be joined (join_ranks.h)
// or run, or if they do not return as many values as the original.
absl::StatusOr<std::vector<RankOutput>> ValidateRanks(const Sample& original,
                                                      const spmd::ShardedSample& shards,
                                                      const RankOptions& options);

}  // namespace graphnet

#endif  // GRAPHNET_SHARD_VALIDATE_RANKS_H_
