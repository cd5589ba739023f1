// The distribution of speedups as a violin shows it.
#ifndef GRAPHNET_EVALUATE_VIOLIN_H_
#define GRAPHNET_EVALUATE_VIOLIN_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "graphnet/evaluate/log.h"

namespace graphnet {

// Of the logarithms to base 2.
struct Violin {
  size_t samples = 0;
  double low = 0;  // quartiles and median
  double median = 0;
  double high = 0;
  std::vector<double> widths;  // at equal distances from `from` to `to`, the widest 1
};

// log2 of the speedups of all samples that are correct at some t, sorted.
std::vector<double> LogSpeedups(absl::Span<const LoggedSample> samples);

// `logs` is sorted. Density by a Gaussian kernel; of no samples, no widths.
Violin MakeViolin(absl::Span<const double> logs, double from, double to);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_VIOLIN_H_
