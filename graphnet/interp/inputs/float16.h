// Conversions between float and the two 16-bit formats, as bits.
#ifndef GRAPHNET_INTERP_INPUTS_FLOAT16_H_
#define GRAPHNET_INTERP_INPUTS_FLOAT16_H_

#include <bit>
#include <cstdint>

namespace graphnet {

// Rounds to nearest, ties to even; a magnitude of 65520 or more becomes an
// infinity. NaN becomes 0x7E00 with its sign.
inline uint16_t FloatToHalf(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits & 0x80000000;
  bits ^= sign;
  if (bits >= 0x47800000) {  // 2^16
    bits = bits > 0x7F800000 ? 0x7E00 : 0x7C00;
  } else if (bits < 0x38800000) {  // 2^-14: subnormal as a half
    // The float's own addition rounds to multiples of 2^-24, half's smallest.
    bits = std::bit_cast<uint32_t>(std::bit_cast<float>(bits) + 0.5f) - 0x3F000000;
  } else {
    bits = (bits - 0x38000000 + 0xFFF + (bits >> 13 & 1)) >> 13;
  }
  return static_cast<uint16_t>(bits | sign >> 16);
}

// Exact.
inline float HalfToFloat(uint16_t half) {
  const uint32_t sign = (half & 0x8000u) << 16;
  // An exponent of 31 stands for infinity and NaN, which scaling does not make.
  const uint32_t special = (half & 0x7C00u) == 0x7C00 ? 0x7F800000 : 0;
  const float magnitude = std::bit_cast<float>((half & 0x7FFFu) << 13) * 0x1p112f;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | special | sign);
}

// Rounds to nearest, ties to even. NaN becomes 0x7FC0.
inline uint16_t FloatToBFloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return 0x7FC0;
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

// Exact.
inline float BFloat16ToFloat(uint16_t value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value) << 16);
}

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_INPUTS_FLOAT16_H_
