// Upsampling and adaptive pooling as sums of picked rows, the same way in every dimension.
#ifndef GRAPHNET_FORMATS_MLIR_RESAMPLE_H_
#define GRAPHNET_FORMATS_MLIR_RESAMPLE_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"

namespace graphnet::mlir {

// What each of the new elements along a dimension has of the old ones: one of them, times a weight.
struct Tap {
  std::vector<int64_t> indices;
  std::vector<double> weights;
};

struct Resampling {
  absl::string_view mode;  // "nearest", "nearest-exact", "linear", "cubic"
  bool align_corners = false;
  int64_t from = 0, to = 0;  // sizes, both above 0
  double factor = 0;         // that was asked for; 0: none
};

// The sum of the taps is what upsample_* yields, in the precision that float32 is computed in.
// Nearest has one, of weight 1, linear two, cubic four.
std::vector<Tap> TapsOf(const Resampling& resampling);

// Of adaptive_avg_pool*: the mean of the elements from floor(i from / to) to
// ceil((i + 1) from / to). Sizes are above 0.
std::vector<Tap> MeanTaps(int64_t from, int64_t to);

}  // namespace graphnet::mlir

#endif  // GRAPHNET_FORMATS_MLIR_RESAMPLE_H_
