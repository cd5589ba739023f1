#include "graphnet/interp/stability.h"

#include <cmath>

namespace graphnet {

double DigitsOf(DType dtype) {
  const auto of_bits = [](int bits) { return bits * std::log10(2.0); };
  switch (dtype) {
    case DType::kFloat64:
    case DType::kComplex128: return of_bits(53);
    case DType::kFloat32:
    case DType::kComplex64: return of_bits(24);
    case DType::kFloat16:
    case DType::kComplex32: return of_bits(11);
    case DType::kBFloat16: return of_bits(8);
    default: return 0;
  }
}

const StableValue* MostSensitive(const Stability& stability) {
  constexpr double kLeast = 0.1;
  const StableValue* worst = nullptr;
  for (const StableValue& value : stability.values) {
    if (value.lost_here >= kLeast && (worst == nullptr || value.lost_here > worst->lost_here))
      worst = &value;
  }
  return worst;
}

}  // namespace graphnet
