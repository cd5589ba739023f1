// Integers between bounds, and those with incomplete specs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/ir/module.h"
#include "tests/base/status_matchers.h"
#include "tests/interp/inputs/draw_testing.h"

namespace graphnet {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Not;

TEST(DrawIntegersTest, BoundsAreIncluded) {
  const std::vector<int64_t> values = DrawElements<int64_t>(DType::kInt64, 1000, Bounds(-2, 3));
  EXPECT_THAT(values, Each(AllOf(Ge(-2), Le(3))));
  for (int64_t i = -2; i <= 3; ++i) EXPECT_THAT(values, Contains(i));
  EXPECT_EQ(DrawElements<int64_t>(DType::kInt64, 1000, Bounds(-2, 3), kBench), values);
}

TEST(DrawIntegersTest, EveryIntegerDType) {
  const DrawSpec spec = Bounds(3, 100);
  const std::vector<int64_t> expected = DrawElements<int64_t>(DType::kInt64, 50, spec);
  const auto equals = [&](const auto& values) {
    return std::equal(values.begin(), values.end(), expected.begin(), expected.end());
  };
  EXPECT_TRUE(equals(DrawElements<int8_t>(DType::kInt8, 50, spec)));
  EXPECT_TRUE(equals(DrawElements<int16_t>(DType::kInt16, 50, spec)));
  EXPECT_TRUE(equals(DrawElements<int32_t>(DType::kInt32, 50, spec)));
  EXPECT_TRUE(equals(DrawElements<uint8_t>(DType::kUInt8, 50, spec)));
  EXPECT_TRUE(equals(DrawElements<uint16_t>(DType::kUInt16, 50, spec)));
  EXPECT_TRUE(equals(DrawElements<uint32_t>(DType::kUInt32, 50, spec)));
  EXPECT_TRUE(equals(DrawElements<uint64_t>(DType::kUInt64, 50, spec)));
}

TEST(DrawIntegersTest, BoundsWinOverDataAndStatistics) {
  DrawSpec spec = Bounds(7, 7);
  const Argument data[] = {1, 2, 3};
  spec.data = Argument::List(data);
  spec.has_std = true;
  EXPECT_THAT(DrawElements<int32_t>(DType::kInt32, 3, spec), Each(7));
}

TEST(DrawIntegersTest, FloatBoundsAreRoundedInwards) {
  const DrawSpec spec = Bounds(-1.5, 1.5);
  EXPECT_THAT(DrawElements<int8_t>(DType::kInt8, 1000, spec), Each(AllOf(Ge(-1), Le(1))));
  EXPECT_THAT(Error(Draw(DType::kInt8, 1, Bounds(0.2, 0.8))), HasSubstr("bounds 1 and 0"));
}

TEST(DrawIntegersTest, InvalidBoundsAreErrors) {
  EXPECT_EQ(Error(Draw(DType::kInt64, 1, Bounds(3, 2))),
            "input x: its bounds 3 and 2 are not a range of int64");
  EXPECT_OK(Draw(DType::kInt8, 1, Bounds(-128, 127)));
  EXPECT_THAT(Draw(DType::kInt8, 1, Bounds(-129, 127)), Not(IsOk()));
  EXPECT_THAT(Draw(DType::kInt8, 1, Bounds(-128, 128)), Not(IsOk()));
  EXPECT_THAT(Draw(DType::kUInt64, 1, Bounds(-1, 5)), Not(IsOk()));
  EXPECT_EQ(Error(Draw(DType::kInt64, 1, Bounds(0, kNan))), "input x: a bound is nan");
  EXPECT_EQ(Error(Draw(DType::kFloat32, 1, Bounds(kNan, {}))), "input x: a bound is nan");
}

// --- Integers with incomplete specs --------------------------------------------

TEST(DrawIntegersTest, GraphNetPromotesThemToFloat) {
  DrawSpec spec = MeanStd(500.5, 3);
  const std::vector<float> normals = Normals(2000);
  for (const DType dtype : {DType::kInt64, DType::kInt8, DType::kInt32}) {
    const absl::StatusOr<TensorData> tensor = Draw(dtype, 2000, spec);
    ASSERT_OK(tensor);
    EXPECT_EQ(tensor->dtype, DType::kFloat32);
    const std::vector<float> values = Elements<float>(*tensor);
    ASSERT_EQ(values.size(), 2000u);
    for (size_t i = 0; i < values.size(); ++i) {
      volatile float x = static_cast<float>(static_cast<int>(normals[i])) * 3.f;
      x = x * 0.2f;
      ASSERT_EQ(values[i], x + 500.5f);  // not clamped to 100
    }
  }
  spec = MeanStd(0, kNan);
  spec.min = 0;
  const absl::StatusOr<TensorData> nan = Draw(DType::kInt64, 1, spec);
  ASSERT_OK(nan);
  EXPECT_TRUE(std::isnan(Elements<float>(*nan)[0]));  // not repaired
  spec = MeanStd(0, 10);
  spec.max = -0.5;
  const absl::StatusOr<TensorData> bounded = Draw(DType::kInt64, 1000, spec);
  ASSERT_OK(bounded);
  EXPECT_THAT(Elements<float>(*bounded), Each(Le(-0.5f)));
}

TEST(DrawIntegersTest, NegativeNormalsWrapAroundInUnsignedDTypes) {
  const std::vector<float> normals = Normals(2000);
  const absl::StatusOr<TensorData> tensor = Draw(DType::kUInt8, 2000, MeanStd(0, 5));
  ASSERT_OK(tensor);
  int wrapped = 0;
  for (size_t i = 0; i < normals.size(); ++i) {
    const int cut = static_cast<int>(normals[i]);
    wrapped += cut < 0;
    ASSERT_FLOAT_EQ(Elements<float>(*tensor)[i], static_cast<float>(cut < 0 ? cut + 256 : cut));
  }
  EXPECT_GT(wrapped, 0);
}

TEST(DrawIntegersTest, TheBenchTruncatesThem) {
  EXPECT_THAT(DrawElements<int64_t>(DType::kInt64, 1000, {}, kBench), Each(0));
  const std::vector<float> normals = Normals(2000);
  const std::vector<int64_t> values =
      DrawElements<int64_t>(DType::kInt64, 2000, MeanStd(1e15, 100), kBench);
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(values[i], static_cast<int64_t>(normals[i] * 100.0 * 0.2 + 1e15));
  }
}

TEST(DrawIntegersTest, TheBenchClampsToOneBound) {
  DrawSpec spec = MeanStd(0, 100);  // five standard deviations are 100
  spec.min = -3;
  const std::vector<int8_t> above = DrawElements<int8_t>(DType::kInt8, 1000, spec, kBench);
  EXPECT_EQ(*std::min_element(above.begin(), above.end()), -3);
  EXPECT_GT(*std::max_element(above.begin(), above.end()), 20);
  spec.min = {};
  spec.max = 2.5;
  const std::vector<int8_t> below = DrawElements<int8_t>(DType::kInt8, 1000, spec, kBench);
  EXPECT_EQ(*std::max_element(below.begin(), below.end()), 2);
  // The dtype cannot hold these bounds.
  spec.max = -1000;
  EXPECT_THAT(DrawElements<int8_t>(DType::kInt8, 10, spec, kBench), Each(-128));
  spec.max = kInfinity;
  EXPECT_THAT(DrawElements<int8_t>(DType::kInt8, 1000, spec, kBench), Contains(Ge(20)));
}

TEST(DrawIntegersTest, TheBenchWrapsAround) {
  EXPECT_THAT(DrawElements<int8_t>(DType::kInt8, 10, MeanStd(300.5, 1e-9), kBench), Each(44));
  EXPECT_THAT(DrawElements<uint16_t>(DType::kUInt16, 10, MeanStd(-2.5, 1e-9), kBench), Each(65534));
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  EXPECT_THAT(DrawElements<int64_t>(DType::kInt64, 10, MeanStd(0, kNan), kBench), Each(kMin));
  EXPECT_THAT(DrawElements<int64_t>(DType::kInt64, 10, MeanStd(1e30, 1), kBench), Each(kMin));
  EXPECT_THAT(DrawElements<int32_t>(DType::kInt32, 10, MeanStd(0, kNan), kBench), Each(0));
}

TEST(DrawIntegersTest, AStdOfZeroGivesTheMeanInTheDType) {
  for (const DrawOptions& options : {kGraphNet, kBench}) {
    EXPECT_THAT(DrawElements<int32_t>(DType::kInt32, 10, MeanStd(-1.7, 0), options), Each(-1));
    DrawSpec spec = MeanStd(-1.7, 0);
    spec.min = 4;
    EXPECT_THAT(DrawElements<int32_t>(DType::kInt32, 10, spec, options), Each(4));
    EXPECT_EQ(Error(Draw(DType::kInt8, 1, MeanStd(300, 0), options)),
              "input x: its mean 300 does not fit int8");
    EXPECT_THAT(Draw(DType::kInt8, 1, MeanStd(kNan, 0), options), Not(IsOk()));
  }
}

}  // namespace
}  // namespace graphnet
