// Which values an input may get when it is drawn (draw.h), without drawing it.
#ifndef GRAPHNET_INTERP_INPUTS_DRAWN_VALUES_H_
#define GRAPHNET_INTERP_INPUTS_DRAWN_VALUES_H_

#include "graphnet/ir/tensor_meta.h"

namespace graphnet {

struct DrawnValues {
  double min = 0;  // of a normal distribution, six deviations count
  double max = 0;
  // Whether 0 is among them and not only between them: an integer, a literal, a bound that
  // others are moved to.
  bool has_zero = false;
  bool is_fixed = false;  // bounds change nothing
};

// By DrawTensor's rules, of Compat::kGraphNet. `spec` is one that DrawTensor takes.
DrawnValues ValuesOf(DType dtype, const DrawSpec& spec);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_INPUTS_DRAWN_VALUES_H_
