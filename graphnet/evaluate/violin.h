// Computes the distribution of speedups for a violin plot.
#ifndef GRAPHNET_EVALUATE_VIOLIN_H_
#define GRAPHNET_EVALUATE_VIOLIN_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "graphnet/evaluate/log.h"

namespace graphnet {

// The distribution of the binary logarithms of speedups.
struct Violin {
  size_t samples = 0;
  double low = 0;  // quartiles and median
  double median = 0;
  double high = 0;
  std::vector<double> widths;  // at equal distances from `from` to `to`, the widest 1
};

// Returns log2 of the speedups of all samples that are correct at some t, sorted.
std::vector<double> LogSpeedups(absl::Span<const LoggedSample> samples);

// Estimates the density with a Gaussian kernel. `logs` must be sorted; if it is empty, there are no
// widths.
Violin MakeViolin(absl::Span<const double> logs, double from, double to);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_VIOLIN_H_
