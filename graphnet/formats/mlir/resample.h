// Expresses upsampling and adaptive pooling as weighted sums of rows that are selected along one
// dimension at a time.
#ifndef GRAPHNET_FORMATS_MLIR_RESAMPLE_H_
#define GRAPHNET_FORMATS_MLIR_RESAMPLE_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"

namespace graphnet::mlir {

// One term of the sum: new element i gets weights[i] times old element indices[i].
struct Tap {
  std::vector<int64_t> indices;  // positions in the old dimension, one per new element
  std::vector<double> weights;   // factors, one per new element
};

// A resampling along one dimension, with the parameters of upsample_*.
struct Resampling {
  absl::string_view mode;      // "nearest", "nearest-exact", "linear", "cubic"
  bool align_corners = false;  // as in PyTorch; ignored by the nearest modes
  int64_t from = 0, to = 0;    // old and new size, both above 0
  double factor = 0;           // requested scale factor; 0 if there is none
};

// Returns the taps whose sum is the result of upsample_*, with weights computed in float32:
// one of weight 1 for nearest, two for linear, four for cubic.
std::vector<Tap> TapsOf(const Resampling& resampling);

// Returns the taps of adaptive_avg_pool*: element i is the mean of the old elements in
// [floor(i from / to), ceil((i + 1) from / to)). Both sizes must be above 0.
std::vector<Tap> MeanTaps(int64_t from, int64_t to);

}  // namespace graphnet::mlir

#endif  // GRAPHNET_FORMATS_MLIR_RESAMPLE_H_
