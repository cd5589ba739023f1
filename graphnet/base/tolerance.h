// How far an output may be from the expected one and still count as right, by its dtype and a
// level t from strict to lenient: |actual - expected| <= atol(t) + rtol(t) * |expected|.
#ifndef GRAPHNET_BASE_TOLERANCE_H_
#define GRAPHNET_BASE_TOLERANCE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace graphnet {

inline constexpr int kMinToleranceLevel = -10;
inline constexpr int kMaxToleranceLevel = 5;
inline constexpr int kCustomaryToleranceLevel = -5;
inline constexpr int kNumToleranceLevels = kMaxToleranceLevel - kMinToleranceLevel + 1;

// Dtypes of one tolerance, in the order in which logs have them; of kExact only equal will do.
enum class ToleranceClass { kFloat16, kBFloat16, kFloat32, kFloat64, kExact };
inline constexpr int kNumToleranceClasses = 4;  // without kExact

struct Tolerance {
  double atol = 0;
  double rtol = 0;
};
// Zeros for kExact.
Tolerance ToleranceAt(int t, ToleranceClass dtypes);

// Of a dtype as PyTorch and Paddle call it: "float32", "torch.complex64", "int64".
ToleranceClass ToleranceClassOf(absl::string_view dtype);

// What logs call a comparison: "all_close_atol_1.00E-05_rtol_1.30E-06"; "equal" for kExact. At
// t = 0 all classes have the same.
std::string ToleranceName(int t, ToleranceClass dtypes);

}  // namespace graphnet

#endif  // GRAPHNET_BASE_TOLERANCE_H_
