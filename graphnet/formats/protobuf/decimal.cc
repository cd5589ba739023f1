#include "graphnet/formats/protobuf/decimal.h"

#include <bit>
#include <cmath>

#include "graphnet/base/check.h"
#include "graphnet/formats/protobuf/column.h"

namespace graphnet::proto_internal {
namespace {

constexpr double kPowers[kMaxDecimalScale + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

}  // namespace

bool EncodeDecimal(double value, int scale, uint64_t* code) {
  const double scaled = value * kPowers[scale];
  // The comparison is false for nan, too.
  if (!(std::fabs(scaled) <= static_cast<double>(kMaxDecimalInteger))) return false;
  const int64_t m = std::llrint(scaled);
  *code = m == 0 && std::signbit(value) ? 0 : ZigZag(m) + 1;
  double decoded = 0;
  return DecodeDecimal(*code, scale, &decoded) &&
         std::bit_cast<uint64_t>(decoded) == std::bit_cast<uint64_t>(value);
}

bool DecodeDecimal(uint64_t code, int scale, double* value) {
  DCHECK(scale >= 0 && scale <= kMaxDecimalScale);
  if (code == 0) {
    *value = -0.0;
    return true;
  }
  const int64_t m = UnZigZag(code - 1);
  if (m < -kMaxDecimalInteger || m > kMaxDecimalInteger) return false;
  *value = static_cast<double>(m) / kPowers[scale];
  return true;
}

int CommonDecimalScale(absl::Span<const double> values, int from) {
  int scale = from;
  uint64_t code = 0;
  for (const double value : values) {
    while (!EncodeDecimal(value, scale, &code)) {
      if (++scale > kMaxDecimalScale) return -1;
    }
  }
  // A value that fits a small scale may be too large for the final one.
  for (const double value : values) {
    if (!EncodeDecimal(value, scale, &code)) return -1;
  }
  return scale;
}

}  // namespace graphnet::proto_internal
