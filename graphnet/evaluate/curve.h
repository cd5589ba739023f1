// A log and what is made of it: one curve of a plot, one section of a report.
#ifndef GRAPHNET_EVALUATE_CURVE_H_
#define GRAPHNET_EVALUATE_CURVE_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/evaluate/log.h"
#include "graphnet/evaluate/score.h"

namespace graphnet {

// What failed in the same way, and what the log first says of it.
struct FailureClass {
  Outcome outcome = Outcome::kAccuracy;
  size_t samples = 0;
  // How often, the most frequent first; at most kMaxReasons.
  std::vector<std::pair<std::string, size_t>> reasons;
  static constexpr size_t kMaxReasons = 10;
};

struct Curve {
  Log log;
  Scores scores;
  std::vector<Influence> movers;       // of the samples, the ten first
  std::vector<FailureClass> failures;  // at t = 1, in the order of Outcome
};

// With intervals. FailedPrecondition if the two ways to a score disagree.
absl::StatusOr<Curve> MakeCurve(Log log, const ScoreOptions& options);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_CURVE_H_
