// Short decimals: floats that were written like "0.125" are kept as 125 and the
// scale 3, when that gives back the same bits.
#ifndef GRAPHNET_FORMATS_PROTOBUF_DECIMAL_H_
#define GRAPHNET_FORMATS_PROTOBUF_DECIMAL_H_

#include <cstdint>

#include "absl/types/span.h"

namespace graphnet::proto_internal {

// 10^22 is the largest power of ten that is exact as a double, so that up to
// here a division by it rounds correctly, as reading the decimal does.
inline constexpr int kMaxDecimalScale = 22;
inline constexpr int64_t kMaxDecimalInteger = (int64_t{1} << 53) - 1;

// As an integer: 0 for -0.0, which "-0.000" is, else m in zigzag form plus 1.
// False if `value` is no decimal of this scale with |m| <= kMaxDecimalInteger.
bool EncodeDecimal(double value, int scale, uint64_t* code);
// False if no value has this code. `scale` is in [0, kMaxDecimalScale].
bool DecodeDecimal(uint64_t code, int scale, double* value);

// The smallest scale in [from, kMaxDecimalScale] that all `values` have;
// -1 if there is none.
int CommonDecimalScale(absl::Span<const double> values, int from = 0);

}  // namespace graphnet::proto_internal

#endif  // GRAPHNET_FORMATS_PROTOBUF_DECIMAL_H_
