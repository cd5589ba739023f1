// The comparison of one output after the ranks of a divided sample ran (validate_ranks.h).
#ifndef GRAPHNET_SHARD_RANK_OUTPUT_H_
#define GRAPHNET_SHARD_RANK_OUTPUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graphnet/interp/rounding.h"

namespace graphnet {

struct RankOutput {
  // kClose: rounding explains the difference (interp/rounding.h).
  enum class State : uint8_t { kBitEqual, kClose, kDifferent };
  std::string name;  // "o0"
  State state = State::kDifferent;
  std::string how;                          // the difference: "at most 0.5, in 3 of 8 elements"
  double max_difference = 0;                // for numbers; otherwise infinity
  std::optional<RoundingFinding> rounding;  // of numbers that differ
  // What would have passed as this output, too (interp/inputs/wrong_answers.h); empty if nothing
  // wrong would have.
  std::string blind;
  // The shape and all elements, in row-major order, of an output that was gathered (--gather).
  std::vector<int64_t> shape;
  std::vector<std::string> elements;
};

}  // namespace graphnet

#endif  // GRAPHNET_SHARD_RANK_OUTPUT_H_
