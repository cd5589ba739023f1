#include "graphnet/interp/inputs/float16.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace graphnet {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Decodes by the definition of the format; infinity counts as 2^16, its neighbour.
float DecodeHalf(uint32_t half) {
  const int exponent = static_cast<int>(half >> 10 & 31);
  const int mantissa = static_cast<int>(half & 1023);
  const float magnitude = exponent == 0
                              ? std::ldexp(static_cast<float>(mantissa), -24)
                              : std::ldexp(static_cast<float>(1024 + mantissa), exponent - 25);
  return half & 0x8000 ? -magnitude : magnitude;
}

TEST(Float16Test, EveryHalfIsDecoded) {
  for (uint32_t half = 0; half < 0x10000; ++half) {
    const float value = HalfToFloat(static_cast<uint16_t>(half));
    if ((half & 0x7FFF) > 0x7C00) {
      ASSERT_TRUE(std::isnan(value)) << half;
      continue;
    }
    const bool infinite = (half & 0x7FFF) == 0x7C00;
    const float expected = infinite ? (half & 0x8000 ? -kInfinity : kInfinity) : DecodeHalf(half);
    ASSERT_EQ(std::bit_cast<uint32_t>(value), std::bit_cast<uint32_t>(expected)) << half;
    ASSERT_EQ(FloatToHalf(value), half);
  }
}

// A number between two neighbours becomes the nearer one; the midpoint becomes the
// even one.
TEST(Float16Test, HalvesRoundToNearestEven) {
  for (uint16_t half = 0; half < 0x7C00; ++half) {
    const auto next = static_cast<uint16_t>(half + 1);
    const float middle = (DecodeHalf(half) + DecodeHalf(next)) / 2;
    const uint16_t even = half % 2 == 0 ? half : next;
    ASSERT_EQ(FloatToHalf(middle), even) << half;
    ASSERT_EQ(FloatToHalf(std::nextafter(middle, 0.f)), half);
    ASSERT_EQ(FloatToHalf(std::nextafter(middle, kInfinity)), next);
    ASSERT_EQ(FloatToHalf(-middle), even | 0x8000);
  }
}

TEST(Float16Test, HalvesAtTheEnds) {
  EXPECT_EQ(FloatToHalf(1e30f), 0x7C00);
  EXPECT_EQ(FloatToHalf(-kInfinity), 0xFC00);
  EXPECT_EQ(FloatToHalf(1e-30f), 0);
  EXPECT_EQ(FloatToHalf(-0.f), 0x8000);
  EXPECT_EQ(FloatToHalf(kNan), 0x7E00);
  EXPECT_EQ(FloatToHalf(-kNan), 0xFE00);
}

TEST(Float16Test, BFloat16sRoundToNearestEven) {
  for (uint32_t value = 0; value < 0x7F80; ++value) {
    const uint32_t bits = value << 16;  // the bits of the equal float
    ASSERT_EQ(BFloat16ToFloat(static_cast<uint16_t>(value)), std::bit_cast<float>(bits));
    const auto round = [](uint32_t b) { return FloatToBFloat16(std::bit_cast<float>(b)); };
    const uint32_t even = value + value % 2;
    ASSERT_EQ(round(bits), value);
    ASSERT_EQ(round(bits + 0x7FFF), value);
    ASSERT_EQ(round(bits + 0x8000), even);
    ASSERT_EQ(round(bits + 0x8001), value + 1);
    ASSERT_EQ(round((bits + 0x8000) | 0x80000000), even | 0x8000);
  }
  EXPECT_EQ(FloatToBFloat16(kInfinity), 0x7F80);
  EXPECT_EQ(FloatToBFloat16(-kInfinity), 0xFF80);
  EXPECT_EQ(FloatToBFloat16(kNan), 0x7FC0);
  // All bits are 1, so adding to them would overflow into the sign.
  EXPECT_EQ(FloatToBFloat16(std::bit_cast<float>(0x7FFFFFFFu)), 0x7FC0);
}

}  // namespace
}  // namespace graphnet
