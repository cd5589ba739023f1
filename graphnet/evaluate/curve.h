// A log and its scores: one curve of a plot, one section of a report.
#ifndef GRAPHNET_EVALUATE_CURVE_H_
#define GRAPHNET_EVALUATE_CURVE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/evaluate/log.h"
#include "graphnet/evaluate/score.h"

namespace graphnet {

// The samples that failed in the same way or are blind, and the reasons that the log gives most
// often.
struct FailureClass {
  Outcome outcome = Outcome::kAccuracy;
  size_t samples = 0;
  // Each reason and its number of samples, the most frequent first; at most kMaxReasons.
  std::vector<std::pair<std::string, size_t>> reasons;
  static constexpr size_t kMaxReasons = 10;
};

// A log with everything that plots and reports show of it.
struct Curve {
  Log log;
  Scores scores;
  // The scores of the samples that are not blind; nullopt if none or all are blind.
  std::optional<Scores> sighted;
  size_t blind = 0;                    // samples of which a wrong answer would have been right
  std::vector<Influence> movers;       // the ten most influential samples
  std::vector<FailureClass> failures;  // at t = 1, in the order of Outcome
};

// Computes the scores of a log with their intervals. FailedPrecondition if the two ways to compute
// a score disagree.
absl::StatusOr<Curve> MakeCurve(Log log, const ScoreOptions& options);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_CURVE_H_
