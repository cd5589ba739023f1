// Estimates by percentile bootstrap how far scores would vary with other samples of the same kind.
#ifndef GRAPHNET_EVALUATE_BOOTSTRAP_H_
#define GRAPHNET_EVALUATE_BOOTSTRAP_H_

#include "absl/types/span.h"
#include "graphnet/evaluate/log.h"
#include "graphnet/evaluate/score.h"

namespace graphnet {

// The share of cases in which an interval is to hold the true score.
inline constexpr double kIntervalCoverage = 0.95;

// Returns how often samples are resampled: 1,000 times; fewer times for more than 20,000 samples,
// whose intervals are narrow, but at least 200 times.
int BootstrapRounds(size_t samples);

// Sets the intervals of `scores`. Deterministic.
void AddIntervals(absl::Span<const LoggedSample> samples, const ScoreOptions& options,
                  Scores* scores);

// Returns the interval of the mean of these values, of which there is at least one. Deterministic.
Interval MeanInterval(absl::Span<const double> values);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_BOOTSTRAP_H_
