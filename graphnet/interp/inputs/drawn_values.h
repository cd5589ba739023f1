// The values that an input may get when it is drawn (draw.h), without drawing it.
#ifndef GRAPHNET_INTERP_INPUTS_DRAWN_VALUES_H_
#define GRAPHNET_INTERP_INPUTS_DRAWN_VALUES_H_

#include "graphnet/ir/tensor_meta.h"

namespace graphnet {

struct DrawnValues {
  double min = 0;  // a normal distribution is cut off at six deviations
  double max = 0;
  // True if 0 itself is a likely value and not only within the bounds: an integer, a literal, or a
  // bound that values are clamped to.
  bool has_zero = false;
  bool is_fixed = false;  // bounds have no effect
};

// Returns the values by DrawTensor's rules for Compat::kGraphNet. DrawTensor must accept `spec`.
DrawnValues ValuesOf(DType dtype, const DrawSpec& spec);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_INPUTS_DRAWN_VALUES_H_
