// S(t) and ES(t) from a few statistics of a log instead of from each of its samples: the second
// way to the same numbers, which checks the first (score.h), and what explains them.
#ifndef GRAPHNET_EVALUATE_MACRO_H_
#define GRAPHNET_EVALUATE_MACRO_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "graphnet/evaluate/interpretation.h"
#include "graphnet/evaluate/log.h"

namespace graphnet {

struct MacroParameters {
  size_t total = 0;
  size_t correct = 0;
  size_t slow = 0;    // correct, with a speedup below 1
  double alpha = 1;   // geometric mean of the speedups of those that are correct
  double beta = 1;    // of those that are slow
  double lambda = 1;  // correct / total
  double eta = 0;     // slow / correct
};
MacroParameters MacroAt(absl::Span<const LoggedSample> samples, int t);

// The share pi_c of each error class among the samples that fail at t.
std::vector<double> ErrorShares(absl::Span<const LoggedSample> samples, int t,
                                Interpretation interpretation);

// What a failure counts at t on the average: b^(sum of the pi_c that t does not forgive).
double Gamma(int t, double b, absl::Span<const double> shares, Interpretation interpretation);

// alpha^lambda * beta^(lambda * eta * p) * failure^(1 - lambda): S(t) with failure = b, ES(t) with
// gamma(t).
double MacroScore(const MacroParameters& parameters, double p, double failure);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_MACRO_H_
