// Changes how weights are drawn so that samples neither vanish nor explode.
//
// GraphNet draws a weight with the mean and a fifth of the standard deviation of its record. A
// product with such a weight makes its input smaller, and after some dozens of layers all numbers
// are 0 within any tolerance. This is the usual rule for new layers of PyTorch: a weight of a
// product that sums over `n` numbers gets the mean 0 and the standard deviation sqrt(2 / n), which
// keeps the size of what passes through it and an activation.
//
//   ASSIGN_OR_RETURN(const std::vector<ScaledWeight> scaled, ScaleDrawnWeights(&sample));
#ifndef GRAPHNET_INTERP_INPUTS_SCALE_WEIGHTS_H_
#define GRAPHNET_INTERP_INPUTS_SCALE_WEIGHTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// A weight that is now drawn otherwise.
struct ScaledWeight {
  std::string name;
  double before = 0;  // the deviation of its elements, which is a fifth of its record's
  double after = 0;
};

// Changes the draw specs of the weights of matrix products and convolutions (those whose FLOPs
// facts/cost/flops.h knows): inputs and attributes of floats with two dimensions or more, also
// behind views and conversions. Factors of a multiplication whose numbers are all nearly 0, such as
// the scale of a residual branch, get the mean 1. Weights whose values are known, those with literal
// data, and the data that a layer takes stay as they are. A weight that several calls use gets the
// smallest deviation. Takes time in proportion to the nodes.
absl::StatusOr<std::vector<ScaledWeight>> ScaleDrawnWeights(Sample* sample);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_INPUTS_SCALE_WEIGHTS_H_
