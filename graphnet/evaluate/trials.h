// Times of trials, and what they say of a speedup.
#ifndef GRAPHNET_EVALUATE_TRIALS_H_
#define GRAPHNET_EVALUATE_TRIALS_H_

#include <utility>
#include <vector>

#include "graphnet/evaluate/sample_result.h"

namespace graphnet {

// Above it, iqr / median, times are too unsteady to be relied on.
inline constexpr double kFluctuation = 0.2;

// Percentiles are interpolated, the deviation is that of a population. Nan of no times.
TimeStatistics StatisticsOf(std::vector<double> milliseconds);

// How unsteady times are: iqr / median.
double FluctuationOf(const std::vector<double>& milliseconds);

// Times of both sides, in blocks that were measured one right after the other.
struct PairedTrials {
  std::vector<std::vector<double>> eager;
  std::vector<std::vector<double>> compiled;

  std::vector<double> AllEager() const;
  std::vector<double> AllCompiled() const;
  // Of the unsteadier side.
  double Fluctuation() const;
};

struct SpeedupEstimate {
  double speedup = 0;  // median eager time over median compiled time; 0: none
  double low = 0;      // 95 %: percentile bootstrap over pairs of blocks, 1,000 rounds
  double high = 0;
};
// The same trials give the same interval.
SpeedupEstimate EstimateSpeedup(const PairedTrials& trials);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_TRIALS_H_
