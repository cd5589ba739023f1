// The scores of a log (docs/evaluation.md): S(t), how good the compiler is if outputs are right
// within the tolerances of t, and ES(t), which from t = 1 on forgives failures class by class.
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

struct ScoreOptions {
  double p = 0;    // how much slower than eager counts beyond its speedup, >= 0
  double b = 0.1;  // what a failure counts, in (0, 1]
  Interpretation interpretation = Interpretation::kDefault;
};

// What a sample adds to the logarithm of a score, whose mean over all samples it is.
class Contribution {
 public:
  explicit Contribution(const ScoreOptions& options);

  // The logarithm of a speedup that counts: s, or below 1 s^(p + 1).
  double OfSpeedup(double speedup) const;
  // Of a failure to ES(t).
  double OfFailure(Outcome outcome, int t) const;
  double ToS(const LoggedSample& sample, int t) const;
  double ToEs(const LoggedSample& sample, int t) const;

 private:
  ScoreOptions options_;
  double log_b_;
};

struct Interval {
  double low = 0;
  double high = 0;
};

struct LevelScores {
  int t = 0;
  double s = 1;
  double es = 1;
  MacroParameters macro;  // at t; those of ES(t) stay as they are at 1 from there on
  double gamma = 1;
  double macro_s = 1;  // from macro
  double macro_es = 1;
  Interval s_interval;  // 95 % (bootstrap.h)
  Interval es_interval;
};

struct Scores {
  std::vector<LevelScores> levels;   // rising in t
  std::vector<double> error_shares;  // pi_c, at t = 1
  size_t failed = 0;                 // at t = 1
  double aggregated = 0;             // the weighted mean of log10 ES(t)
  Interval aggregated_interval;
};

// Without intervals. `samples` is not empty.
Scores ComputeScores(absl::Span<const LoggedSample> samples, const ScoreOptions& options);

// FailedPrecondition if the two ways to a score differ by more than 1e-3 + 1e-3 * |macro| at a t:
// names each such t, both values and their difference.
absl::Status CrossCheck(const Scores& scores);
// How far they are apart, at most.
double LargestDifference(const Scores& scores);

// What ES(t) weighs in the aggregated score; 0 above t = 4. They sum up to 1.
double AggregationWeight(int t);

// By how much the aggregated score is higher with the sample than without it.
struct Influence {
  size_t sample = 0;
  double change = 0;
};
// Of those that change it most, the `most` first; none of a log of one sample.
std::vector<Influence> MostInfluential(absl::Span<const LoggedSample> samples,
                                       const ScoreOptions& options, const Scores& scores,
                                       size_t most);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_SCORE_H_
