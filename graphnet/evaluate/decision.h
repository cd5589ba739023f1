// The paragraph of a report for whoever decides between compilers: which one is faster and by how much,
// what fails, and why.
#ifndef GRAPHNET_EVALUATE_DECISION_H_
#define GRAPHNET_EVALUATE_DECISION_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/types/span.h"
#include "graphnet/evaluate/curve.h"
#include "graphnet/evaluate/log.h"
#include "graphnet/evaluate/score.h"

namespace graphnet {

// Compares the speeds of two compilers on the samples on which both are right at t = -5.
struct PairOfSpeeds {
  size_t samples = 0;  // of both logs, by path
  double ratio = 1;    // geometric mean of the first speedup over the second
  // Holds the ratio with 95 %, by Student's distribution of the logarithms; nullopt for fewer than two.
  std::optional<Interval> interval;
};
PairOfSpeeds CompareSpeeds(const Log& first, const Log& second);

// Returns one paragraph about the logs of a report.
std::string DecisionText(absl::Span<const Curve> curves);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_DECISION_H_
