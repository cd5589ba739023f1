// Bools, floats and complex numbers: their distribution, bounds and repairs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/interp/inputs/float16.h"
#include "graphnet/interp/inputs/generator.h"
#include "graphnet/ir/module.h"
#include "tests/base/status_matchers.h"
#include "tests/interp/inputs/draw_testing.h"

namespace graphnet {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Not;

// --- 3: bool -------------------------------------------------------------------

TEST(DrawBoolTest, IsNormalAboveAHalfInGraphNet) {
  const std::vector<uint8_t> values = DrawElements<uint8_t>(DType::kBool, 100'000, {});
  const std::vector<float> normals = Normals(values.size());
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], normals[i] > 0.5f ? 1 : 0);
  EXPECT_NEAR(static_cast<double>(std::count(values.begin(), values.end(), 1)), 30'854, 750);
}

TEST(DrawBoolTest, IsUniformAboveAHalfInTheBench) {
  const std::vector<uint8_t> values = DrawElements<uint8_t>(DType::kBool, 100'000, {}, kBench);
  std::vector<float> uniform(values.size());
  Generator(1, "x").Uniform(0, absl::MakeSpan(uniform));
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], uniform[i] > 0.5f ? 1 : 0);
  EXPECT_NEAR(static_cast<double>(std::count(values.begin(), values.end(), 1)), 50'000, 800);
}

// A mean and bounds have no effect on bools.
TEST(DrawBoolTest, IgnoresTheSpec) {
  DrawSpec spec = MeanStd(5, 0);
  spec.min = 1;
  spec.max = 1;
  EXPECT_EQ(DrawElements<uint8_t>(DType::kBool, 100, spec),
            DrawElements<uint8_t>(DType::kBool, 100, {}));
}

// --- 4: normal -----------------------------------------------------------------

TEST(DrawFloatTest, MomentsMatchAFifthOfTheStd) {
  const size_t n = 1'000'000;
  double sum = 0, squares = 0;
  for (const float x : DrawElements<float>(DType::kFloat32, n, MeanStd(3, 2))) {
    sum += x - 3;
    squares += (x - 3) * (x - 3);
  }
  EXPECT_NEAR(sum / n, 0, 5 * 0.4e-3);
  EXPECT_NEAR(std::sqrt(squares / n), 0.4, 5 * 0.4e-3 / std::sqrt(2));
}

TEST(DrawFloatTest, Float32RoundsAfterEachOperation) {
  const std::vector<float> normals = Normals(3000);
  const std::vector<float> values =
      DrawElements<float>(DType::kFloat32, 3000, MeanStd(0.123, 0.37));
  for (size_t i = 0; i < values.size(); ++i) {
    volatile float x = normals[i] * 0.37f;
    x = x * 0.2f;
    x = x + 0.123f;
    ASSERT_EQ(values[i], x);
  }
}

TEST(DrawFloatTest, Float64TakesFloat32Normals) {
  const std::vector<float> normals = Normals(3000);
  const std::vector<double> values =
      DrawElements<double>(DType::kFloat64, 3000, MeanStd(0.123, 0.37));
  for (size_t i = 0; i < values.size(); ++i) {
    volatile double x = static_cast<double>(normals[i]) * 0.37;
    x = x * 0.2;
    x = x + 0.123;
    ASSERT_EQ(values[i], x);
  }
}

TEST(DrawFloatTest, Float16AndBFloat16RoundAfterEachOperation) {
  const std::vector<float> normals = Normals(3000);
  const auto half = [](float x) { return HalfToFloat(FloatToHalf(x)); };
  const auto brain = [](float x) { return BFloat16ToFloat(FloatToBFloat16(x)); };
  const auto expected = [&](auto round, size_t i) {
    return round(round(round(round(normals[i]) * 1.234f) * 0.2f) + round(-5.6f));
  };
  const DrawSpec spec = MeanStd(-5.6, 1.234);
  const std::vector<uint16_t> halves = DrawElements<uint16_t>(DType::kFloat16, 3000, spec);
  const std::vector<uint16_t> brains = DrawElements<uint16_t>(DType::kBFloat16, 3000, spec);
  for (size_t i = 0; i < normals.size(); ++i) {
    ASSERT_EQ(HalfToFloat(halves[i]), expected(half, i)) << i;
    ASSERT_EQ(BFloat16ToFloat(brains[i]), expected(brain, i)) << i;
  }
}

TEST(DrawFloatTest, ComplexNumbersAreReal) {
  const DrawSpec spec = MeanStd(1, 2);
  const absl::StatusOr<TensorData> narrow = Draw(DType::kComplex64, 2000, spec);
  const absl::StatusOr<TensorData> wide = Draw(DType::kComplex128, 2000, spec);
  ASSERT_OK(narrow);
  ASSERT_OK(wide);
  const std::vector<float> floats = DrawElements<float>(DType::kFloat32, 2000, spec);
  const std::vector<double> doubles = DrawElements<double>(DType::kFloat64, 2000, spec);
  for (size_t i = 0; i < 2000; ++i) {
    ASSERT_EQ(Elements<float>(*narrow)[2 * i], floats[i]);
    ASSERT_EQ(Elements<float>(*narrow)[2 * i + 1], 0);
    ASSERT_EQ(Elements<double>(*wide)[2 * i], doubles[i]);
    ASSERT_EQ(Elements<double>(*wide)[2 * i + 1], 0);
  }
  EXPECT_EQ(Error(Draw(DType::kComplex64, 1, Bounds(0, {}))),
            "input x: complex numbers have no bounds");
}

TEST(DrawFloatTest, DefaultsAreAStdOfATenthAndAMeanOfZero) {
  const std::vector<float> expected = DrawElements<float>(DType::kFloat32, 100, MeanStd(0, 0.1));
  EXPECT_EQ(DrawElements<float>(DType::kFloat32, 100, {}), expected);
  DrawSpec spec = MeanStd(5, 5);  // ignored, see the next line
  spec.has_mean = spec.has_std = false;
  EXPECT_EQ(DrawElements<float>(DType::kFloat32, 100, spec), expected);
  const Dim shape[] = {100};
  TensorMeta meta;
  meta.dtype = DType::kFloat32;
  meta.has_shape = true;
  meta.shape = shape;
  const absl::StatusOr<TensorData> tensor = DrawTensor(meta, nullptr, "x", kGraphNet);
  ASSERT_OK(tensor);
  EXPECT_EQ(Elements<float>(*tensor), expected);
}

TEST(DrawFloatTest, AStdOfZeroGivesTheMean) {
  EXPECT_THAT(DrawElements<float>(DType::kFloat32, 2000, MeanStd(0.1, 0)), Each(0.1f));
  EXPECT_THAT(DrawElements<double>(DType::kFloat64, 3, MeanStd(0.1, -0.0)), Each(0.1));
  EXPECT_THAT(DrawElements<uint16_t>(DType::kFloat16, 3, MeanStd(0.1, 0)), Each(FloatToHalf(0.1f)));
  EXPECT_THAT(DrawElements<float>(DType::kFloat32, 3, Bounds({}, {})), Not(Each(0.f)));
}

TEST(DrawFloatTest, BenchIsTheSameForFloats) {
  const DrawSpec spec = MeanStd(0.3, 0.7);
  for (const DType dtype : {DType::kFloat32, DType::kFloat16}) {
    const absl::StatusOr<TensorData> a = Draw(dtype, 500, spec), b = Draw(dtype, 500, spec, kBench);
    ASSERT_OK(a);
    ASSERT_OK(b);
    EXPECT_EQ(*a->bytes, *b->bytes);
  }
}

// --- 5: bounds -----------------------------------------------------------------

TEST(DrawFloatTest, ClampsToEitherBound) {
  const std::vector<float> free = DrawElements<float>(DType::kFloat32, 2000, MeanStd(0, 5));
  const auto expect = [&](Argument min, Argument max, float low, float high) {
    DrawSpec spec = MeanStd(0, 5);
    spec.min = min;
    spec.max = max;
    const std::vector<float> values = DrawElements<float>(DType::kFloat32, 2000, spec);
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(values[i], std::min(std::max(free[i], low), high));
    }
  };
  expect(0, {}, 0, 1000);
  expect({}, 0.25, -1000, 0.25);
  expect(-0.5, 1, -0.5, 1);
  expect(1, -1, 1, -1);  // the upper bound applies last
  expect(-kInfinity, kInfinity, -1000, 1000);
}

TEST(DrawFloatTest, BoundsAreRoundedToTheDType) {
  DrawSpec spec = MeanStd(0, 1);
  spec.min = 1000.3;  // not a float16
  EXPECT_THAT(DrawElements<uint16_t>(DType::kFloat16, 3, spec), Each(FloatToHalf(100)));
  spec.min = 5.001;
  EXPECT_THAT(DrawElements<uint16_t>(DType::kFloat16, 3, spec), Each(FloatToHalf(5.001f)));
}

TEST(DrawFloatTest, AConstantIsClamped) {
  DrawSpec spec = MeanStd(-3, 0);
  spec.min = 0;
  EXPECT_THAT(DrawElements<float>(DType::kFloat32, 3, spec), Each(0.f));
}

// --- 6: non-finite and large values --------------------------------------------

TEST(DrawFloatTest, NonFiniteValuesAreDrawnAgain) {
  const std::vector<float> repairs = Normals(3000, 1);
  std::vector<DrawSpec> specs = {MeanStd(5, kNan),       MeanStd(5, kInfinity), MeanStd(kNan, 1),
                                 MeanStd(-kInfinity, 1), MeanStd(kNan, 0),      MeanStd(0, 1e300)};
  specs.push_back(MeanStd(5, kNan));
  specs.back().min = 1;  // applies before the repair
  for (const DrawSpec& spec : specs) {
    const std::vector<float> values = DrawElements<float>(DType::kFloat32, 3000, spec);
    for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], repairs[i] * 0.01f);
  }
}

TEST(DrawFloatTest, RepairsRoundToTheDType) {
  const std::vector<float> repairs = Normals(100, 1);
  const std::vector<uint16_t> values =
      DrawElements<uint16_t>(DType::kFloat16, 100, MeanStd(0, kNan));
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(values[i], FloatToHalf(HalfToFloat(FloatToHalf(repairs[i])) * 0.01f));
  }
}

// With a large std, some elements of float16 overflow and some do not.
TEST(DrawFloatTest, OnlyNonFiniteValuesAreDrawnAgain) {
  const std::vector<float> normals = Normals(2000);
  const std::vector<float> repairs = Normals(2000, 1);
  const std::vector<uint16_t> values =
      DrawElements<uint16_t>(DType::kFloat16, 2000, MeanStd(0, 5e4));
  int repaired = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const float x = HalfToFloat(values[i]);
    if (std::abs(normals[i]) > 1.4) {
      ++repaired;
      ASSERT_NEAR(x, repairs[i] * 0.01f, 1e-4);
    } else if (std::abs(normals[i]) < 1.3 && std::abs(normals[i]) > 0.1) {
      ASSERT_EQ(x, normals[i] > 0 ? 100 : -100);
    }
  }
  EXPECT_GT(repaired, 100);
}

TEST(DrawFloatTest, AnInfiniteValueThatABoundMadeFiniteStays) {
  DrawSpec spec = MeanStd(kInfinity, 1);
  spec.max = 7;
  EXPECT_THAT(DrawElements<float>(DType::kFloat32, 10, spec), Each(7.f));
}

TEST(DrawFloatTest, ClampsToAHundred) {
  EXPECT_THAT(DrawElements<float>(DType::kFloat32, 10, MeanStd(1000, 1)), Each(100.f));
  EXPECT_THAT(DrawElements<double>(DType::kFloat64, 10, MeanStd(-1000, 0)), Each(-100.));
  EXPECT_THAT(DrawElements<uint16_t>(DType::kBFloat16, 10, MeanStd(1000, 1)),
              Each(FloatToBFloat16(100)));
  DrawSpec spec = MeanStd(0, 1);
  spec.min = 500;
  EXPECT_THAT(DrawElements<float>(DType::kFloat32, 10, spec), Each(100.f));
}

TEST(DrawFloatTest, ComplexNumbersAreNotRepaired) {
  const absl::StatusOr<TensorData> tensor = Draw(DType::kComplex64, 1, MeanStd(1000, 0));
  ASSERT_OK(tensor);
  EXPECT_THAT(Elements<float>(*tensor), ElementsAre(1000, 0));
}

}  // namespace
}  // namespace graphnet
