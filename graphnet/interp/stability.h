// Measures how many digits of each value survive rounding, by the random rounding of docs/rounding.md.
// The description of the result needs no LibTorch.
//
//   const StableValue* const worst = MostSensitive(stability);
//   if (worst != nullptr) std::cout << worst->node->name() << " loses " << worst->lost_here;
#ifndef GRAPHNET_INTERP_STABILITY_H_
#define GRAPHNET_INTERP_STABILITY_H_

#include <cstddef>
#include <vector>

#include "graphnet/ir/module.h"
#include "graphnet/ir/types.h"

namespace graphnet {

// Returns how many decimal digits a number of this dtype has: 7.2 for float32, 3.3 for float16, 2.4 for
// bfloat16, 16 for float64; 0 if it has no fractions.
double DigitsOf(DType dtype);

// A value of floating-point numbers that a call of the main graph has returned.
struct StableValue {
  const Node* node = nullptr;
  DType dtype = DType::kUnknown;
  // The root mean square of the elements, divided by that of what rounding does to them, as a power of
  // ten; at most DigitsOf(dtype), and at least 0.
  double digits = 0;
  double lost = 0;       // of DigitsOf(dtype)
  double lost_here = 0;  // of those that the operands have
};

struct Stability {
  std::vector<StableValue> values;  // in the order of the run
  size_t left_out = 0;              // values for which there was no memory
};

// Returns the value that loses most digits itself, the first of several; null if none loses a tenth.
const StableValue* MostSensitive(const Stability& stability);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_STABILITY_H_
