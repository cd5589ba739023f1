#include "graphnet/base/tolerance.h"

#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace graphnet {
namespace {

// The decimal exponents by which a tolerance grows for each step of t.
struct Exponents {
  double atol;
  double rtol;
};
constexpr Exponents kExponents[kNumToleranceClasses] = {
    {1, 3.0 / 5},
    {1, 1.796 / 5},
    {1, 5.886 / 5},
    {7.0 / 5, 7.0 / 5},
};

}  // namespace

Tolerance ToleranceAt(int t, ToleranceClass dtypes) {
  if (dtypes == ToleranceClass::kExact) return {};
  const Exponents& exponents = kExponents[static_cast<size_t>(dtypes)];
  return {.atol = std::pow(10, exponents.atol * t), .rtol = std::pow(10, exponents.rtol * t)};
}

ToleranceClass ToleranceClassOf(absl::string_view dtype) {
  if (!absl::ConsumePrefix(&dtype, "torch.")) absl::ConsumePrefix(&dtype, "paddle.");
  if (dtype == "float32" || dtype == "complex64") return ToleranceClass::kFloat32;
  if (dtype == "float16" || dtype == "complex32") return ToleranceClass::kFloat16;
  if (dtype == "bfloat16") return ToleranceClass::kBFloat16;
  if (dtype == "float64" || dtype == "complex128") return ToleranceClass::kFloat64;
  // Quantised types: qint8, quint8, qint32, quint4x2.
  if (absl::StartsWith(dtype, "qint") || absl::StartsWith(dtype, "quint")) {
    return ToleranceClass::kFloat32;
  }
  return ToleranceClass::kExact;
}

std::string ToleranceName(int t, ToleranceClass dtypes) {
  if (dtypes == ToleranceClass::kExact) return "equal";
  const Tolerance tolerance = ToleranceAt(t, dtypes);
  return absl::StrFormat("all_close_atol_%.2E_rtol_%.2E", tolerance.atol, tolerance.rtol);
}

}  // namespace graphnet
