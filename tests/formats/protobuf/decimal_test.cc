#include "graphnet/formats/protobuf/decimal.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"

namespace graphnet::proto_internal {
namespace {

TEST(DecimalTest, SmallestScale) {
  const struct {
    double value;
    int scale;
  } cases[] = {
      {0.0, 0},
      {-0.0, 0},
      {1, 0},
      {-2.5, 1},
      {0.1, 1},
      {1e-05, 5},
      {1e-22, 22},
      {1e-23, -1},
      {1e15, 0},
      {9007199254740991.0, 0},
      {9007199254740992.0, -1},
      {1e300, -1},
      {5e-324, -1},
      {1 / 3.0, 16},
      {std::numeric_limits<double>::infinity(), -1},
      {std::nan(""), -1},
      {0.08838834764831845, 17},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(CommonDecimalScale({&c.value, 1}), c.scale) << absl::StreamFormat("%.17g", c.value);
  }
}

TEST(DecimalTest, OneScaleForAll) {
  EXPECT_EQ(CommonDecimalScale({}), 0);
  EXPECT_EQ(CommonDecimalScale({0.5, 0.125, -0.0}), 3);
  EXPECT_EQ(CommonDecimalScale({0.5}, 3), 3);
  // The first value needs a large scale, for which the second is too large.
  EXPECT_EQ(CommonDecimalScale({1e-15, 123456.0}), -1);
}

TEST(DecimalTest, NegativeZeroIsNotZero) {
  uint64_t code = 1;
  ASSERT_TRUE(EncodeDecimal(-0.0, 3, &code));
  EXPECT_EQ(code, 0u);
  double value = 1;
  ASSERT_TRUE(DecodeDecimal(code, 3, &value));
  EXPECT_TRUE(std::signbit(value));
  ASSERT_TRUE(EncodeDecimal(0.0, 3, &code));
  EXPECT_EQ(code, 1u);
}

TEST(DecimalTest, CodesBeyondTheLimitAreRefused) {
  double value = 0;
  EXPECT_TRUE(DecodeDecimal(2 * uint64_t{kMaxDecimalInteger} + 1, 0, &value));
  EXPECT_EQ(value, 9007199254740991.0);
  EXPECT_TRUE(DecodeDecimal(2 * uint64_t{kMaxDecimalInteger}, 0, &value));
  EXPECT_EQ(value, -9007199254740991.0);
  EXPECT_FALSE(DecodeDecimal(2 * uint64_t{kMaxDecimalInteger} + 2, 0, &value));
  EXPECT_FALSE(DecodeDecimal(2 * uint64_t{kMaxDecimalInteger} + 3, 0, &value));
  EXPECT_FALSE(DecodeDecimal(UINT64_MAX, 0, &value));
}

// A float that is printed with n digits reads back to the bit, like with strtod.
TEST(DecimalTest, PrintedFloatsAreExact) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(0, 10);
  for (int i = 0; i < 100000; ++i) {
    const int digits = i % 10;
    const std::string text = absl::StrFormat("%.*f", digits, normal(random));
    const double value = std::strtod(text.c_str(), nullptr);
    uint64_t code = 0;
    ASSERT_TRUE(EncodeDecimal(value, digits, &code)) << text;
    double decoded = 0;
    ASSERT_TRUE(DecodeDecimal(code, digits, &decoded)) << text;
    ASSERT_EQ(std::bit_cast<uint64_t>(decoded), std::bit_cast<uint64_t>(value)) << text;
  }
}

// Any bits are either refused or given back.
TEST(DecimalTest, AnyBitsAreExactOrRefused) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 200000; ++i) {
    const double value = std::bit_cast<double>(random());
    const int scale = static_cast<int>(random() % (kMaxDecimalScale + 1));
    uint64_t code = 0;
    if (!EncodeDecimal(value, scale, &code)) continue;
    double decoded = 0;
    ASSERT_TRUE(DecodeDecimal(code, scale, &decoded));
    ASSERT_EQ(std::bit_cast<uint64_t>(decoded), std::bit_cast<uint64_t>(value));
  }
}

}  // namespace
}  // namespace graphnet::proto_internal
