// Decides whether two samples fail in the same way.
#ifndef GRAPHNET_EVALUATE_FAILURE_KIND_H_
#define GRAPHNET_EVALUATE_FAILURE_KIND_H_

#include <string>

#include "absl/strings/string_view.h"
#include "graphnet/evaluate/sample_result.h"

namespace graphnet {

// A way to fail, without the details that differ from sample to sample.
struct FailureKind {
  Outcome outcome = Outcome::kCorrect;  // kCorrect: no failure, as all is right at t = -5
  std::string reason;                   // KindOfReason of the sample's reason

  friend bool operator==(const FailureKind& a, const FailureKind& b) = default;
};

// Returns the kind of a sample's failure; kCorrect if it did not fail.
FailureKind FailureKindOf(const SampleResult& result);

// Returns a reason with "#" in the place of numbers, lists and paths, and without quoted text and
// the names of values: "shape '' is invalid for input of size #".
std::string KindOfReason(absl::string_view reason);

// Describes the failure in a line: "compile_fail: no kernel for #".
std::string DescribeFailure(const FailureKind& kind);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_FAILURE_KIND_H_
