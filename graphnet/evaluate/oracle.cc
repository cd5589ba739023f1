#include "graphnet/evaluate/oracle.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graphnet/base/status.h"
#include "graphnet/base/tolerance.h"
#include "graphnet/interp/inputs/weights.h"

namespace graphnet {
namespace {

// Converts floats to float64, which does not change their values; other outputs stay.
absl::StatusOr<Outputs> Widened(const Outputs& outputs) {
  Outputs wide;
  for (const TensorData& output : outputs) {
    const DType dtype = output.dtype;
    const bool is_narrow =
        dtype == DType::kFloat16 || dtype == DType::kBFloat16 || dtype == DType::kFloat32;
    wide.push_back(output);
    if (is_narrow) {
      ASSIGN_OR_RETURN(wide.back(), ConvertFloats(output, DType::kFloat64));
    }
  }
  return wide;
}

struct Distance {
  bool is_right = false;
  double error = std::numeric_limits<double>::quiet_NaN();
};

// Compares outputs with the reference within the tolerances of `dtypes`.
absl::StatusOr<Distance> DistanceFrom(const Outputs& reference, const Outputs& outputs,
                                      const std::vector<std::string>& dtypes) {
  Distance distance;
  if (DTypesOf(outputs) != dtypes) return distance;
  ASSIGN_OR_RETURN(const Outputs wide, Widened(outputs));
  const OutputsVerdict verdict = CompareOutputs(reference, wide);
  if (verdict.outputs.size() != dtypes.size()) return distance;
  distance.is_right = verdict.status == Outcome::kCorrect;
  distance.error = 0;
  for (size_t i = 0; i < dtypes.size(); ++i) {
    const OutputComparison& output = verdict.outputs[i];
    distance.is_right &= output.IsRight(kCustomaryToleranceLevel, ToleranceClassOf(dtypes[i]));
    const double error = output.max_diff;
    distance.error = std::isnan(error) || std::isnan(distance.error)
                         ? std::numeric_limits<double>::quiet_NaN()
                         : std::max(distance.error, error);
  }
  return distance;
}

}  // namespace

absl::string_view WrongName(Wrong wrong) {
  switch (wrong) {
    case Wrong::kNobody: return "nobody";
    case Wrong::kBackend: return "backend";
    case Wrong::kEager: return "eager";
    case Wrong::kBoth: return "both";
  }
  return "";
}

absl::StatusOr<OracleVerdict> JudgeByReference(const Outputs& reference, const Outputs& eager,
                                               const Outputs& backend) {
  ASSIGN_OR_RETURN(const Outputs wide, Widened(reference));
  ASSIGN_OR_RETURN(const Outputs wide_eager, Widened(eager));
  const OutputsVerdict form = CompareOutputs(wide, wide_eager);
  if (form.status == Outcome::kTypeMismatch || form.status == Outcome::kShapeMismatch) {
    return absl::FailedPreconditionError(
        absl::StrCat("in float64 it returns other outputs: ", form.reason));
  }
  const std::vector<std::string> dtypes = DTypesOf(eager);
  ASSIGN_OR_RETURN(const Distance of_eager, DistanceFrom(wide, eager, dtypes));
  ASSIGN_OR_RETURN(const Distance of_backend, DistanceFrom(wide, backend, dtypes));
  OracleVerdict verdict;
  verdict.eager_error = of_eager.error;
  verdict.backend_error = of_backend.error;
  verdict.wrong = of_eager.is_right && of_backend.is_right ? Wrong::kNobody
                  : of_eager.is_right                      ? Wrong::kBackend
                  : of_backend.is_right                    ? Wrong::kEager
                                                           : Wrong::kBoth;
  return verdict;
}

std::string DescribeFinding(const OracleFinding& finding, absl::string_view backend) {
  if (!finding.verdict.has_value())
    return absl::StrCat("cannot tell which side is wrong: ", finding.why_not);
  const OracleVerdict& verdict = *finding.verdict;
  const std::string of_backend = absl::StrFormat("%s %.2g", backend, verdict.backend_error);
  const std::string of_eager = absl::StrFormat("eager %.2g", verdict.eager_error);
  std::string line;
  switch (verdict.wrong) {
    case Wrong::kNobody:
      line = absl::StrCat("neither side is wrong: errors against float64: ", of_backend, ", ",
                          of_eager);
      break;
    case Wrong::kBackend:
      line =
          absl::StrCat(backend, " is wrong: errors against float64: ", of_backend, ", ", of_eager);
      break;
    case Wrong::kEager:
      line = absl::StrCat("eager is wrong: errors against float64: ", of_eager, ", ", of_backend);
      break;
    case Wrong::kBoth:
      line = absl::StrCat("both are wrong: errors against float64: ", of_backend, ", ", of_eager);
      break;
  }
  if (!finding.node.empty()) {
    absl::StrAppend(&line, "; first at %", Printable(finding.node), " = ",
                    Printable(finding.target));
  }
  if (!finding.reduced.empty()) {
    absl::StrAppend(&line, "; ", finding.operators,
                    finding.operators == 1 ? " operator" : " operators", " in ",
                    Printable(finding.reduced, 1000));
  }
  if (!finding.why_not.empty()) absl::StrAppend(&line, "; ", finding.why_not);
  return line;
}

}  // namespace graphnet
