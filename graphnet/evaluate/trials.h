// Statistics of the times of trials, and the speedup that follows from them.
#ifndef GRAPHNET_EVALUATE_TRIALS_H_
#define GRAPHNET_EVALUATE_TRIALS_H_

#include <string>
#include <utility>
#include <vector>

#include "graphnet/evaluate/sample_result.h"

namespace graphnet {

// The limit of iqr / median above which times are too unsteady to be relied on.
inline constexpr double kFluctuation = 0.2;

// Computes the statistics, which are nan if there are no times. Percentiles are interpolated, and
// the deviation is that of a population.
TimeStatistics StatisticsOf(std::vector<double> milliseconds);

// Returns iqr / median, which measures how unsteady times are.
double FluctuationOf(const std::vector<double>& milliseconds);

// The times of both sides, in blocks that were measured one right after the other.
struct PairedTrials {
  std::vector<std::vector<double>> eager;
  std::vector<std::vector<double>> compiled;

  // Return the times of all blocks.
  std::vector<double> AllEager() const;
  std::vector<double> AllCompiled() const;
  // Returns the fluctuation of the less steady side.
  double Fluctuation() const;
};

// A speedup and its interval.
struct SpeedupEstimate {
  double speedup = 0;  // median eager time over median compiled time; 0 if unknown
  double low = 0;      // 95 %: percentile bootstrap over pairs of blocks, 1,000 rounds
  double high = 0;
};
// Estimates the speedup. Deterministic.
SpeedupEstimate EstimateSpeedup(const PairedTrials& trials);

// Joins the blocks of both sides by measure, in the order in which the measures first appear. A side
// has the times of a measure only if all of its blocks have it; otherwise it has no blocks there.
// A measure that neither side has is left out.
ByMeasure<PairedTrials> TrialsByMeasure(
    const std::vector<ByMeasure<std::vector<double>>>& eager,
    const std::vector<ByMeasure<std::vector<double>>>& compiled);

// Adds the statistics of each side that has times, and if both have, the speedup, and its interval
// unless times fluctuate.
void AddTimes(const std::string& measure, const PairedTrials& trials, SampleResult* result);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_TRIALS_H_
