// Describes the elements of a value of a run, without LibTorch.
#ifndef GRAPHNET_INTERP_VALUE_STATISTICS_H_
#define GRAPHNET_INTERP_VALUE_STATISTICS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "graphnet/ir/types.h"

namespace graphnet {

// The elements of one tensor, or of several. Those that are nan or infinite are counted, and the rest
// is about the others.
struct ValueStatistics {
  DType dtype = DType::kUnknown;  // of one tensor
  std::vector<int64_t> shape;     // of one tensor
  int64_t elements = 0;           // all of them
  int64_t zeros = 0;
  int64_t nans = 0;
  int64_t infinities = 0;
  int64_t finite = 0;  // elements that have the numbers below; 0 for complex numbers
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  double mean = 0;
  double squares = 0;  // the sum of the squares of the distances to the mean

  // Returns the standard deviation as torch.std does: divided by one less than there are elements; 0
  // for one element.
  double deviation() const {
    return finite > 1 ? std::sqrt(squares / static_cast<double>(finite - 1)) : 0;
  }

  // Adds the elements of another value, but for its form.
  void Add(const ValueStatistics& other) {
    const auto n = static_cast<double>(finite);
    const auto m = static_cast<double>(other.finite);
    if (other.finite > 0) {
      const double distance = other.mean - mean;
      mean += distance * m / (n + m);
      squares += other.squares + distance * distance * n * m / (n + m);
    }
    min = std::min(min, other.min);
    max = std::max(max, other.max);
    elements += other.elements;
    zeros += other.zeros;
    nans += other.nans;
    infinities += other.infinities;
    finite += other.finite;
  }
};

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_VALUE_STATISTICS_H_
