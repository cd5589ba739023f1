// How far scores would be off with other samples of the same kind: percentile bootstrap.
#ifndef GRAPHNET_EVALUATE_BOOTSTRAP_H_
#define GRAPHNET_EVALUATE_BOOTSTRAP_H_

#include "absl/types/span.h"
#include "graphnet/evaluate/log.h"
#include "graphnet/evaluate/score.h"

namespace graphnet {

inline constexpr double kIntervalCoverage = 0.95;

// How often samples are drawn anew: 1,000 times, fewer of more than 20,000 samples, where the
// intervals are narrow, but at least 200 times.
int BootstrapRounds(size_t samples);

// Sets the intervals. The same samples give the same ones, always.
void AddIntervals(absl::Span<const LoggedSample> samples, const ScoreOptions& options,
                  Scores* scores);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_BOOTSTRAP_H_
