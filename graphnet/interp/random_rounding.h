// Random rounding: while a RandomRounding lives, operators that this thread calls round at random.
//
//   RandomRounding rounding({.seed = 7});
//   outputs = executable->Run(inputs);  // differs from another seed's by what rounding changes
//
// The calls go to a fallback of LibTorch's dispatcher, so that an operator that consists of others is
// seen as those. Each element of a result that was rounded moves to one of its neighbours
// (inputs/random_noise.h). Sums of many terms move by more, and their terms move before they are added:
// the rounding of a partial sum is relative to that, not to the result. docs/rounding.md has the model.
#ifndef GRAPHNET_INTERP_RANDOM_ROUNDING_H_
#define GRAPHNET_INTERP_RANDOM_ROUNDING_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "graphnet/ir/node.h"

namespace graphnet {

struct RandomRoundingOptions {
  uint32_t seed = 0;
  // The size of all moves. 0: nothing moves, and only decisions are recorded.
  float size = 1;
};

// A call that turned numbers into whole ones: a comparison, argmax, floor, a cast to an integer.
struct RoundingDecision {
  std::string op;              // "aten::topk"
  const Node* node = nullptr;  // of the main graph; null if no observer told
  size_t digest = 0;           // of what was decided
};

class RandomRounding {
 public:
  explicit RandomRounding(const RandomRoundingOptions& options);
  ~RandomRounding();
  RandomRounding(const RandomRounding&) = delete;
  RandomRounding& operator=(const RandomRounding&) = delete;

  // Says that the calls since the last time belong to `node`.
  void CallsOf(const Node& node);
  // The decisions so far, in order.
  const std::vector<RoundingDecision>& decisions() const { return decisions_; }

 private:
  friend class RoundingCall;

  RandomRoundingOptions options_;
  RandomRounding* outer_;
  uint32_t calls_ = 0;
  size_t named_ = 0;  // decisions that have a node
  std::vector<RoundingDecision> decisions_;
};

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_RANDOM_ROUNDING_H_
