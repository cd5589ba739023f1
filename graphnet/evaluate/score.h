// Computes the scores of a log (docs/evaluation_reference.md). S(t) says how good the compiler is if outputs
// are right within the tolerances of t. ES(t) also forgives failures from t = 1 on, class by class.
#ifndef GRAPHNET_EVALUATE_SCORE_H_
#define GRAPHNET_EVALUATE_SCORE_H_

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/evaluate/interpretation.h"
#include "graphnet/evaluate/log.h"
#include "graphnet/evaluate/macro.h"

namespace graphnet {

// The parameters of the scores.
struct ScoreOptions {
  double p = 0;    // extra penalty for being slower than eager, >= 0
  double b = 0.1;  // the value of a failure, in (0, 1]
  Interpretation interpretation = Interpretation::kDefault;
};

// The contribution of a sample to the logarithm of a score, which is their mean over all samples.
class Contribution {
 public:
  explicit Contribution(const ScoreOptions& options);

  // Returns the logarithm of the speedup s that counts: s itself, or s^(p + 1) if it is below 1.
  double OfSpeedup(double speedup) const;
  // Returns the contribution of a failure to ES(t).
  double OfFailure(Outcome outcome, int t) const;
  // Return the contribution of a sample to S(t) and to ES(t).
  double ToS(const LoggedSample& sample, int t) const;
  double ToEs(const LoggedSample& sample, int t) const;

 private:
  ScoreOptions options_;
  double log_b_;
};

// A confidence interval.
struct Interval {
  double low = 0;
  double high = 0;
};

// The scores at one tolerance, each computed in two ways.
struct LevelScores {
  int t = 0;
  double s = 1;
  double es = 1;
  MacroParameters macro;  // at t; ES(t) uses those of t = 1 from there on
  double gamma = 1;
  double macro_s = 1;  // from macro
  double macro_es = 1;
  Interval s_interval;  // 95 % (bootstrap.h)
  Interval es_interval;
};

// The scores of a log.
struct Scores {
  std::vector<LevelScores> levels;   // rising in t
  std::vector<double> error_shares;  // pi_c, at t = 1
  size_t failed = 0;                 // at t = 1
  double aggregated = 0;             // the weighted mean of log10 ES(t)
  Interval aggregated_interval;
};

// Computes the scores without their intervals. `samples` must not be empty.
Scores ComputeScores(absl::Span<const LoggedSample> samples, const ScoreOptions& options);

// FailedPrecondition if the two ways to a score differ by more than 1e-3 + 1e-3 * |macro| at some
// t. The error names each such t, both values and their difference.
absl::Status CrossCheck(const Scores& scores);
// Returns the largest difference between the two ways.
double LargestDifference(const Scores& scores);

// Returns the weight of ES(t) in the aggregated score; 0 above t = 4. The weights add up to 1.
double AggregationWeight(int t);

// The amount by which the aggregated score is higher with a sample than without it.
struct Influence {
  size_t sample = 0;
  double change = 0;
};
// Returns the `most` samples that change it most, in falling order; none for a log of one sample.
std::vector<Influence> MostInfluential(absl::Span<const LoggedSample> samples,
                                       const ScoreOptions& options, const Scores& scores,
                                       size_t most);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_SCORE_H_
