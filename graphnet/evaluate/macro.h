// Computes S(t) and ES(t) from a few statistics of a log instead of from each sample. It is the
// second way to the same numbers: it checks the first (score.h), and the statistics explain the
// scores.
#ifndef GRAPHNET_EVALUATE_MACRO_H_
#define GRAPHNET_EVALUATE_MACRO_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "graphnet/evaluate/interpretation.h"
#include "graphnet/evaluate/log.h"

namespace graphnet {

// The statistics of a log at one tolerance.
struct MacroParameters {
  size_t total = 0;
  size_t correct = 0;
  size_t slow = 0;    // correct, with a speedup below 1
  double alpha = 1;   // geometric mean of the speedups of correct samples
  double beta = 1;    // of slow ones
  double lambda = 1;  // correct / total
  double eta = 0;     // slow / correct
};
// Computes the statistics at tolerance t.
MacroParameters MacroAt(absl::Span<const LoggedSample> samples, int t);

// Returns the share pi_c of each error class among the samples that fail at t.
std::vector<double> ErrorShares(absl::Span<const LoggedSample> samples, int t,
                                Interpretation interpretation);

// Returns the value that a failure counts at t on average: b^(sum of the pi_c not forgiven at t).
double Gamma(int t, double b, absl::Span<const double> shares, Interpretation interpretation);

// Returns alpha^lambda * beta^(lambda * eta * p) * failure^(1 - lambda). It is S(t) if `failure` is
// b, and ES(t) if it is Gamma(t).
double MacroScore(const MacroParameters& parameters, double p, double failure);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_MACRO_H_
