// Who is wrong where a compiler and eager differ: both are compared with the same program computed
// in float64.
#ifndef GRAPHNET_EVALUATE_ORACLE_H_
#define GRAPHNET_EVALUATE_ORACLE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/evaluate/compare_outputs.h"

namespace graphnet {

// Whose outputs are farther from the reference than the customary tolerances of their dtypes allow.
enum class Wrong { kNobody, kBackend, kEager, kBoth };
// "backend".
absl::string_view WrongName(Wrong wrong);

struct OracleVerdict {
  Wrong wrong = Wrong::kNobody;
  // The largest difference from the reference; nan where outputs are nan or cannot be compared.
  double eager_error = 0;
  double backend_error = 0;
};

// FailedPrecondition if the outputs of eager and the reference are not of the same form.
absl::StatusOr<OracleVerdict> JudgeByReference(const Outputs& reference, const Outputs& eager,
                                               const Outputs& backend);

struct OracleFinding {
  std::optional<OracleVerdict> verdict;
  std::string why_not;  // there is none, or no more than it
  std::string
      node;  // the last of the shortest part of the graph, from its inputs on, that shows it
  std::string target;     // what that calls
  std::string reduced;    // the path of a small sample that shows it
  int64_t operators = 0;  // of that
};

// "iree is wrong by 0.12, eager by 3e-08, first at %y = torch.erf; 1 operator in …", a line.
std::string DescribeFinding(const OracleFinding& finding, absl::string_view backend);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_ORACLE_H_
