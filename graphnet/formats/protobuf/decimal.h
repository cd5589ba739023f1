// Short decimals. A float that was written as "0.125" is stored as 125 with scale 3, if that gives
// the same bits back.
#ifndef GRAPHNET_FORMATS_PROTOBUF_DECIMAL_H_
#define GRAPHNET_FORMATS_PROTOBUF_DECIMAL_H_

#include <cstdint>

#include "absl/types/span.h"

namespace graphnet::proto_internal {

// 10^22 is the largest power of ten that is exact as a double. Up to it, dividing by the power
// rounds correctly, just like reading the decimal.
inline constexpr int kMaxDecimalScale = 22;
inline constexpr int64_t kMaxDecimalInteger = (int64_t{1} << 53) - 1;

// Sets `code` to 0 for -0.0 (written "-0.000"), else to m in zigzag form plus 1, where `value` is
// m / 10^scale. Returns false if `value` has no such m with |m| <= kMaxDecimalInteger.
bool EncodeDecimal(double value, int scale, uint64_t* code);
// Returns false if no value has this code. `scale` is in [0, kMaxDecimalScale].
bool DecodeDecimal(uint64_t code, int scale, double* value);

// Returns the smallest scale in [from, kMaxDecimalScale] at which all `values` can be encoded; -1
// if there is none.
int CommonDecimalScale(absl::Span<const double> values, int from = 0);

}  // namespace graphnet::proto_internal

#endif  // GRAPHNET_FORMATS_PROTOBUF_DECIMAL_H_
