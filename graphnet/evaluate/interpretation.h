// From which tolerance t on a failure is forgiven, as the three sources of ES(t) have it.
#ifndef GRAPHNET_EVALUATE_INTERPRETATION_H_
#define GRAPHNET_EVALUATE_INTERPRETATION_H_

#include <cstddef>
#include <limits>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/evaluate/sample_result.h"

namespace graphnet {

enum class Interpretation {
  kDefault,           // GraphNet's tools: wrong numbers from t = 1 on, all else from 3
  kMismatchExtended,  // ditto, with other shapes, dtypes or nan apart: 1, 2, 3, 4
  kReport,            // GraphNet's report: wrong numbers 1, running 2, compiling 3
};
absl::string_view InterpretationName(Interpretation interpretation);

inline constexpr int kNeverForgiven = std::numeric_limits<int>::max();

// Failures that are forgiven together; pi_c is the share of one among all that failed.
struct PenaltyClass {
  absl::string_view name;
  int threshold;  // forgiven at t >= threshold
};
absl::Span<const PenaltyClass> PenaltyClasses(Interpretation interpretation);
// The one that a failure, so no kCorrect, belongs to: an index.
size_t PenaltyClassOf(Interpretation interpretation, Outcome outcome);

// The scores of an interpretation go from kMinToleranceLevel to this.
int LastLevel(Interpretation interpretation);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_INTERPRETATION_H_
