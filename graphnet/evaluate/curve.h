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

// The score of a log whose samples are right if rounding explains their differences, each by a tolerance of
// its own (bench --tolerance derived). A sample without that verdict is right if it is at t = -5. Samples of
// which rounding would explain a wrong answer, too, do not count.
struct DerivedScore {
  double es = 1;      // no failure is forgiven
  size_t judged = 0;  // samples with a verdict
  size_t blind = 0;   // samples that do not count
  // A sample that is right by one of the two and not by the other.
  struct Change {
    size_t sample = 0;
    bool is_right = false;  // by its derived tolerance
  };
  std::vector<Change> changes;  // from t = -5
};
// Returns nullopt if no sample has a verdict.
std::optional<DerivedScore> ScoreDerived(const std::vector<LoggedSample>& samples,
                                         const ScoreOptions& options);

// A cause of failures that `bench --locate` has found.
struct LocatedCause {
  std::string failure;
  std::string operators;
  std::string dtypes;
  size_t samples = 0;
  std::string test;  // a file for pytest; empty if there is none
};

// A log with everything that plots and reports show of it.
struct Curve {
  Log log;
  Scores scores;
  // The scores of the samples that are not blind; nullopt if none or all are blind.
  std::optional<Scores> sighted;
  size_t blind = 0;  // samples of which a wrong answer would have been right
  std::optional<DerivedScore> derived;
  std::vector<Influence> movers;       // the ten most influential samples
  std::vector<FailureClass> failures;  // at t = 1, in the order of Outcome
  std::vector<LocatedCause> causes;    // which its folder has, for the report page
};

// Computes the scores of a log with their intervals. FailedPrecondition if the two ways to compute
// a score disagree.
absl::StatusOr<Curve> MakeCurve(Log log, const ScoreOptions& options);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_CURVE_H_
