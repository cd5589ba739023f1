// Whether two samples fail in the same way.
#ifndef GRAPHNET_EVALUATE_FAILURE_KIND_H_
#define GRAPHNET_EVALUATE_FAILURE_KIND_H_

#include <string>

#include "absl/strings/string_view.h"
#include "graphnet/evaluate/sample_result.h"

namespace graphnet {

struct FailureKind {
  Outcome outcome = Outcome::kCorrect;  // kCorrect: none, all is right at t = -5
  std::string reason;                   // without what is another one in each sample

  friend bool operator==(const FailureKind& a, const FailureKind& b) = default;
};

FailureKind FailureKindOf(const SampleResult& result);

// "shape '[#]' is invalid for input of size #": with "#" in the place of numbers, lists and paths,
// and quoted text and names of values left out.
std::string KindOfReason(absl::string_view reason);

// "compile_fail: no kernel for #".
std::string DescribeFailure(const FailureKind& kind);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_FAILURE_KIND_H_
