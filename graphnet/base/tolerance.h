// Tolerances of outputs, by dtype and by a level t that goes from strict to lenient. An output is
// right if |actual - expected| <= atol(t) + rtol(t) * |expected|.
#ifndef GRAPHNET_BASE_TOLERANCE_H_
#define GRAPHNET_BASE_TOLERANCE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace graphnet {

inline constexpr int kMinToleranceLevel = -10;
inline constexpr int kMaxToleranceLevel = 5;
inline constexpr int kCustomaryToleranceLevel = -5;
inline constexpr int kNumToleranceLevels = kMaxToleranceLevel - kMinToleranceLevel + 1;

// Dtypes that share a tolerance, in the order of the logs. Values of kExact must be equal.
enum class ToleranceClass { kFloat16, kBFloat16, kFloat32, kFloat64, kExact };
inline constexpr int kNumToleranceClasses = 4;  // without kExact

struct Tolerance {
  double atol = 0;
  double rtol = 0;
};
// Returns the tolerance at level t; zeros for kExact.
Tolerance ToleranceAt(int t, ToleranceClass dtypes);

// Returns the class of a dtype by its name in PyTorch or Paddle, such as "float32",
// "torch.complex64" or "int64".
ToleranceClass ToleranceClassOf(absl::string_view dtype);

// Returns the name of a comparison in logs, such as "all_close_atol_1.00E-05_rtol_1.30E-06", or
// "equal" for kExact. At t = 0, all classes have the same name.
std::string ToleranceName(int t, ToleranceClass dtypes);

}  // namespace graphnet

#endif  // GRAPHNET_BASE_TOLERANCE_H_
