// What is found of an output when the ranks of a divided sample are run (validate_ranks.h).
#ifndef GRAPHNET_SHARD_RANK_OUTPUT_H_
#define GRAPHNET_SHARD_RANK_OUTPUT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace graphnet {

struct RankOutput {
  enum class State : uint8_t { kBitEqual, kClose, kDifferent };
  std::string name;  // "o0"
  State state = State::kDifferent;
  std::string how;            // of a difference: "at most 0.5, in 3 of 8 elements"
  double max_difference = 0;  // of numbers, else infinity
  // Of one that was gathered to be looked at: all of it, row by row.
  std::vector<int64_t> shape;
  std::vector<std::string> elements;
};

}  // namespace graphnet

#endif  // GRAPHNET_SHARD_RANK_OUTPUT_H_
