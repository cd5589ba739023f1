// Decides which side is wrong if a compiler and eager differ, by comparing both with the same
// program computed in float64.
#ifndef GRAPHNET_EVALUATE_ORACLE_H_
#define GRAPHNET_EVALUATE_ORACLE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/evaluate/compare_outputs.h"

namespace graphnet {

// The sides whose outputs are farther from the reference than the customary tolerances of their
// dtypes allow.
enum class Wrong { kNobody, kBackend, kEager, kBoth };
// Returns "nobody", "backend", "eager" or "both".
absl::string_view WrongName(Wrong wrong);

// The sides that are wrong, and their errors.
struct OracleVerdict {
  Wrong wrong = Wrong::kNobody;
  // The largest difference from the reference; nan where outputs are nan or cannot be compared.
  double eager_error = 0;
  double backend_error = 0;
};

// Compares both sides with the reference. FailedPrecondition if the outputs of eager and the
// reference differ in number, dtypes or shapes.
absl::StatusOr<OracleVerdict> JudgeByReference(const Outputs& reference, const Outputs& eager,
                                               const Outputs& backend);

// The findings of the oracle on a sample.
struct OracleFinding {
  std::optional<OracleVerdict> verdict;
  std::string why_not;  // why there is no verdict, or nothing beyond it
  std::string
      node;  // the last node of the shortest part of the graph, from its inputs on, that shows it
  std::string target;     // target of that node
  std::string reduced;    // the path of a small sample that shows it
  int64_t operators = 0;  // of the small sample
};

// Describes the finding in one line: "iree is wrong: errors against float64: iree 0.12, eager
// 3e-08; first at %y = torch.erf; 1 operator in …".
std::string DescribeFinding(const OracleFinding& finding, absl::string_view backend);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_ORACLE_H_
