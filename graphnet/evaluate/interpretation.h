// Defines from which tolerance t on a failure is forgiven, in each of the three variants of ES(t).
#ifndef GRAPHNET_EVALUATE_INTERPRETATION_H_
#define GRAPHNET_EVALUATE_INTERPRETATION_H_

#include <cstddef>
#include <limits>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/evaluate/sample_result.h"

namespace graphnet {

// The variants of ES(t).
enum class Interpretation {
  kDefault,           // GraphNet's tools: wrong numbers from t = 1 on, all others from 3
  kMismatchExtended,  // wrong numbers 1; shapes, dtypes or nan 2; running 3; compiling 4
  kReport,            // GraphNet's report: wrong numbers 1, running 2, compiling 3
};
// Returns "default", "mismatch_extended" or "report".
absl::string_view InterpretationName(Interpretation interpretation);

// Threshold of a class that is not forgiven at any t.
inline constexpr int kNeverForgiven = std::numeric_limits<int>::max();

// A class of failures that are forgiven together. Its share among all failures is pi_c.
struct PenaltyClass {
  absl::string_view name;
  int threshold;  // forgiven at t >= threshold
};
// Returns the classes of an interpretation.
absl::Span<const PenaltyClass> PenaltyClasses(Interpretation interpretation);
// Returns the index of the class of a failure. `outcome` must not be kCorrect.
size_t PenaltyClassOf(Interpretation interpretation, Outcome outcome);

// Returns the last tolerance of an interpretation's scores, which begin at kMinToleranceLevel.
int LastLevel(Interpretation interpretation);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_INTERPRETATION_H_
