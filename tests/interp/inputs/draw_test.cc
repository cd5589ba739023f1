#include "graphnet/interp/inputs/draw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ATen/ATen.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "graphnet/interp/inputs/float16.h"
#include "graphnet/interp/inputs/generator.h"
#include "graphnet/ir/module.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Le;
using ::testing::Not;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

constexpr DrawOptions kGraphNet = {.seed = 1, .compat = Compat::kGraphNet};
constexpr DrawOptions kBench = {.seed = 1, .compat = Compat::kBench};

DrawSpec MeanStd(double mean, double std) {
  DrawSpec spec;
  spec.has_mean = spec.has_std = true;
  spec.mean = mean;
  spec.std = std;
  return spec;
}

DrawSpec Bounds(Argument min, Argument max) {
  DrawSpec spec;
  spec.min = min;
  spec.max = max;
  return spec;
}

// Draws a tensor of one dimension, named "x".
absl::StatusOr<TensorData> Draw(DType dtype, int64_t n, const DrawSpec& spec,
                                const DrawOptions& options = kGraphNet) {
  const Dim shape[] = {n};
  TensorMeta meta;
  meta.dtype = dtype;
  meta.has_shape = true;
  meta.shape = shape;
  return DrawTensor(meta, &spec, "x", options);
}

template <typename T>
std::vector<T> Elements(const TensorData& tensor) {
  std::vector<T> out(tensor.bytes->size() / sizeof(T));
  std::memcpy(out.data(), tensor.bytes->data(), tensor.bytes->size());
  return out;
}

// Draws the tensor and returns its elements; `dtype` is stored as T.
template <typename T>
std::vector<T> DrawElements(DType dtype, int64_t n, const DrawSpec& spec,
                            const DrawOptions& options = kGraphNet) {
  const absl::StatusOr<TensorData> tensor = Draw(dtype, n, spec, options);
  EXPECT_OK(tensor);
  if (!tensor.ok()) return {};
  EXPECT_EQ(tensor->dtype, dtype);
  EXPECT_THAT(tensor->shape, ElementsAre(n));
  EXPECT_EQ(tensor->bytes->size(), static_cast<size_t>(n) * sizeof(T));
  return Elements<T>(*tensor);
}

std::string Error(const absl::StatusOr<TensorData>& tensor) {
  return std::string(tensor.status().message());
}

// Returns the normal numbers from which "x" is drawn with seed 1.
std::vector<float> Normals(size_t n, uint8_t stream = 0) {
  std::vector<float> out(n);
  Generator(1, "x", stream).Normal(0, absl::MakeSpan(out));
  return out;
}

// --- 1: integers between bounds ------------------------------------------------

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

// --- 2: literal data -----------------------------------------------------------

template <typename T>
std::vector<T> FromData(DType dtype, const std::vector<Argument>& data, DrawSpec spec = {}) {
  spec.data = Argument::List(data);
  return DrawElements<T>(dtype, static_cast<int64_t>(data.size()), spec);
}

std::string DataError(DType dtype, Argument element) {
  DrawSpec spec;
  spec.data = Argument::List({&element, 1});
  return Error(Draw(dtype, 1, spec));
}

TEST(DrawDataTest, NumbersOfEveryKind) {
  const std::vector<Argument> data = {true, false, 3, -2, 1.5, -0.0};
  EXPECT_THAT(FromData<float>(DType::kFloat32, data), ElementsAre(1, 0, 3, -2, 1.5, 0));
  EXPECT_THAT(FromData<double>(DType::kFloat64, data), ElementsAre(1, 0, 3, -2, 1.5, 0));
  EXPECT_THAT(FromData<int64_t>(DType::kInt64, data), ElementsAre(1, 0, 3, -2, 1, 0));
  EXPECT_THAT(FromData<int8_t>(DType::kInt8, data), ElementsAre(1, 0, 3, -2, 1, 0));
  EXPECT_THAT(FromData<uint8_t>(DType::kBool, data), ElementsAre(1, 0, 1, 1, 1, 0));
  EXPECT_THAT(FromData<uint16_t>(DType::kFloat16, data),
              ElementsAre(0x3C00, 0, 0x4200, 0xC000, 0x3E00, 0x8000));
  EXPECT_THAT(FromData<uint16_t>(DType::kBFloat16, data),
              ElementsAre(0x3F80, 0, 0x4040, 0xC000, 0x3FC0, 0x8000));
}

TEST(DrawDataTest, InfinityAndNan) {
  const std::vector<Argument> data = {kInfinity, -kInfinity, kNan};
  const std::vector<float> floats = FromData<float>(DType::kFloat32, data);
  EXPECT_EQ(floats[0], kInfinity);
  EXPECT_EQ(floats[1], -kInfinity);
  EXPECT_TRUE(std::isnan(floats[2]));
  EXPECT_THAT(FromData<uint16_t>(DType::kFloat16, data), ElementsAre(0x7C00, 0xFC00, 0x7E00));
  EXPECT_THAT(FromData<uint8_t>(DType::kBool, data), Each(1));
}

TEST(DrawDataTest, IsNotClamped) {
  EXPECT_THAT(FromData<float>(DType::kFloat32, {-5, 1000.0}, Bounds(0, 1)), ElementsAre(-5, 1000));
  EXPECT_THAT(FromData<int64_t>(DType::kInt64, {-5, 1000}, Bounds(0, {})), ElementsAre(-5, 1000));
}

TEST(DrawDataTest, IntegersAtTheEndsOfTheDType) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(FromData<int64_t>(DType::kInt64, {kMin, kMax, -0x1p63}),
              ElementsAre(kMin, kMax, kMin));
  EXPECT_THAT(FromData<uint64_t>(DType::kUInt64, {kMax, 0x1p63, -0.5}),
              ElementsAre(uint64_t{kMax}, uint64_t{1} << 63, 0));
  EXPECT_THAT(FromData<int8_t>(DType::kInt8, {-128, 127, 127.9, -128.9}),
              ElementsAre(-128, 127, 127, -128));
  EXPECT_EQ(DataError(DType::kInt8, 128), "input x: its data holds 128, beyond int8");
  EXPECT_THAT(DataError(DType::kInt8, -129.0), HasSubstr("-129, beyond int8"));
  EXPECT_THAT(DataError(DType::kUInt8, -1), HasSubstr("-1, beyond uint8"));
  EXPECT_THAT(DataError(DType::kInt64, 0x1p63), HasSubstr("beyond int64"));
  EXPECT_THAT(DataError(DType::kInt64, kInfinity), HasSubstr("inf, beyond int64"));
  EXPECT_THAT(DataError(DType::kInt64, kNan), HasSubstr("nan, beyond int64"));
}

TEST(DrawDataTest, FloatsBeyondTheDTypeBecomeInfinite) {
  EXPECT_THAT(FromData<float>(DType::kFloat32, {1e300}), ElementsAre(kInfinity));
  EXPECT_THAT(FromData<uint16_t>(DType::kFloat16, {65519.9, 7e4}), ElementsAre(0x7BFF, 0x7C00));
}

// Torch rounds to float first: 1 + 2^-11 + 2^-40 is above the midpoint of two halves, but
// the nearest float is the midpoint.
TEST(DrawDataTest, HalvesAreRoundedViaFloat) {
  EXPECT_THAT(FromData<uint16_t>(DType::kFloat16, {1 + 0x1p-11 + 0x1p-40}), ElementsAre(0x3C00));
}

TEST(DrawDataTest, ComplexNumbersAreReal) {
  DrawSpec spec;
  const Argument data[] = {1.5, -2};
  spec.data = Argument::List(data);
  const absl::StatusOr<TensorData> tensor = Draw(DType::kComplex64, 2, spec);
  ASSERT_OK(tensor);
  EXPECT_THAT(Elements<float>(*tensor), ElementsAre(1.5, 0, -2, 0));
}

TEST(DrawDataTest, MoreThanAChunk) {
  std::vector<Argument> data;
  for (int i = 0; i < 3000; ++i) data.push_back(i);
  const std::vector<int32_t> values = FromData<int32_t>(DType::kInt32, data);
  for (int i = 0; i < 3000; ++i) ASSERT_EQ(values[static_cast<size_t>(i)], i);
}

TEST(DrawDataTest, MustFitTheShape) {
  DrawSpec spec;
  const Argument data[] = {1, 2, 3};
  spec.data = Argument::List(data);
  EXPECT_EQ(Error(Draw(DType::kFloat32, 4, spec)), "input x: its data has 3 elements, its shape 4");
  EXPECT_THAT(Error(Draw(DType::kFloat32, 0, spec)), HasSubstr("3 elements"));
  spec.data = Argument::List({});
  EXPECT_OK(Draw(DType::kFloat32, 0, spec));
  EXPECT_THAT(Error(Draw(DType::kFloat32, 1, spec)), HasSubstr("0 elements"));
  EXPECT_THAT(DataError(DType::kFloat32, "a"), HasSubstr("values other than numbers"));
  spec.data = Argument(3);
  EXPECT_THAT(Error(Draw(DType::kFloat32, 1, spec)), HasSubstr("its data is not a list"));
}

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

// --- What a value depends on ---------------------------------------------------

TEST(DrawTensorTest, DependsOnSeedAndKeyOnly) {
  const auto draw = [](absl::string_view name, absl::string_view original, uint64_t seed) {
    const Dim shape[] = {3, 50};
    TensorMeta meta;
    meta.dtype = DType::kFloat32;
    meta.has_shape = true;
    meta.shape = shape;
    DrawSpec spec;
    spec.original_name = original;
    const absl::StatusOr<TensorData> tensor = DrawTensor(meta, &spec, name, {.seed = seed});
    EXPECT_OK(tensor);
    EXPECT_THAT(tensor->shape, ElementsAre(3, 50));
    return Elements<float>(*tensor);
  };
  const std::vector<float> x = draw("x", "", 1);
  EXPECT_EQ(draw("x", "", 1), x);
  EXPECT_EQ(draw("renamed", "x", 1), x);
  EXPECT_NE(draw("x", "y", 1), x);
  EXPECT_NE(draw("y", "", 1), x);
  EXPECT_NE(draw("x", "", 2), x);
}

TEST(DrawTensorTest, AnElementDependsOnItsIndexAlone) {
  const std::vector<float> all = DrawElements<float>(DType::kFloat32, 5000, MeanStd(1, 2));
  for (const int64_t n : {1, 3, 1023, 1024, 1025, 4999}) {
    EXPECT_EQ(DrawElements<float>(DType::kFloat32, n, MeanStd(1, 2)),
              std::vector<float>(all.begin(), all.begin() + n));
  }
}

// --- Shapes, sizes and dtypes --------------------------------------------------

TEST(DrawTensorTest, EveryDTypeIsDrawnOrRefused) {
  int drawn = 0;
  for (int i = 1; i < kNumDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    const absl::StatusOr<TensorData> tensor = Draw(dtype, 5, {}, kBench);
    if (tensor.ok()) {
      ++drawn;
      EXPECT_EQ(tensor->bytes->size(), 5u * static_cast<size_t>(DTypeBytes(dtype)));
    } else {
      EXPECT_THAT(tensor, StatusIs(absl::StatusCode::kUnimplemented,
                                   absl::StrCat("input x: cannot draw ", DTypeName(dtype))));
    }
  }
  EXPECT_EQ(drawn, 20);
  EXPECT_THAT(Draw(DType::kUnknown, 5, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, "input x: its dtype is not known"));
}

absl::StatusOr<TensorData> DrawShape(const std::vector<Dim>& shape, int64_t max_bytes = 4000) {
  TensorMeta meta;
  meta.dtype = DType::kFloat32;
  meta.has_shape = true;
  meta.shape = shape;
  return DrawTensor(meta, nullptr, "a\nb", {.max_bytes = max_bytes});
}

TEST(DrawTensorTest, ScalarsAndEmptyTensors) {
  const absl::StatusOr<TensorData> scalar = DrawShape({});
  ASSERT_OK(scalar);
  EXPECT_TRUE(scalar->shape.empty());
  EXPECT_EQ(scalar->bytes->size(), 4u);
  const absl::StatusOr<TensorData> empty = DrawShape({3, 0, 5}, 0);
  ASSERT_OK(empty);
  EXPECT_THAT(empty->shape, ElementsAre(3, 0, 5));
  EXPECT_EQ(empty->bytes->size(), 0u);
}

TEST(DrawTensorTest, ShapesThatCannotBeDrawnAreErrors) {
  EXPECT_EQ(Error(DrawTensor(TensorMeta(), nullptr, "a\nb", {})),
            "input a\\nb: its shape is not known");
  EXPECT_EQ(Error(DrawShape({2, -1})), "input a\\nb: a size is negative");
  EXPECT_EQ(Error(DrawShape({0, int64_t{1} << 62, 16})), "input a\\nb: it has too many elements");
  EXPECT_EQ(Error(DrawShape({int64_t{1} << 41})), "input a\\nb: it has too many elements");
  EXPECT_EQ(Error(DrawShape(std::vector<Dim>(65, 1))), "input a\\nb: it has too many dimensions");
  EXPECT_OK(DrawShape(std::vector<Dim>(64, 1)));
  Module module;
  module.AddSymbol("S0", 3);
  EXPECT_EQ(Error(DrawShape({module.SymSymbol("S0")})), "input a\\nb: a size is symbolic");
}

TEST(DrawTensorTest, MaxBytesIsTheLimit) {
  EXPECT_OK(DrawShape({10, 100}, 4000));
  EXPECT_THAT(DrawShape({10, 100}, 3999),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "input a\\nb: its 1000 elements of 4 bytes exceed the 3999 bytes that may "
                       "still be drawn"));
}

// --- Samples -------------------------------------------------------------------

class DrawInputsTest : public testing::Test {
 protected:
  DrawInputsTest() {
    sample_.module = std::make_unique<Module>();
    graph_ = module().AddGraph("forward");
  }

  Module& module() { return *sample_.module; }

  const TensorMeta* Meta(DType dtype, const std::vector<Dim>& shape) {
    TensorMeta meta;
    meta.dtype = dtype;
    meta.has_shape = true;
    meta.shape = shape;
    return module().InternMeta(meta);
  }

  Node* AddPlaceholder(absl::string_view target, const TensorMeta* meta,
                       absl::string_view annotation = "") {
    Node* node = graph_->Placeholder(target);
    if (meta != nullptr) node->set_meta(module().InternValueMeta(*meta));
    node->set_annotation(annotation);
    return node;
  }

  void AddData(Node* node, Argument element) {
    DrawSpec spec;
    spec.data = Argument::List({&element, 1});
    node->set_draw_spec(spec);
  }

  absl::StatusOr<std::map<std::string, TensorData>> Run(const DrawOptions& options = {.seed = 1}) {
    return DrawInputs(sample_, options);
  }

  std::string RunError() { return std::string(Run().status().message()); }

  Sample sample_;
  Graph* graph_;
};

TEST_F(DrawInputsTest, PlaceholdersByTargetAndAttributesByName) {
  Node* x = graph_->Placeholder("L_x_", "l_x_");
  x->set_meta(module().InternValueMeta(*Meta(DType::kFloat32, {2, 3})));
  x->set_draw_spec(MeanStd(7, 0));
  module().AddAttribute({.name = "fc.weight", .meta = Meta(DType::kFloat16, {4})});
  const auto values = Run();
  ASSERT_OK(values);
  EXPECT_THAT(*values, ElementsAre(Key("L_x_"), Key("fc.weight")));
  EXPECT_THAT(Elements<float>(values->at("L_x_")), Each(7.f));
  EXPECT_THAT(values->at("L_x_").shape, ElementsAre(2, 3));
  EXPECT_EQ(values->at("fc.weight").dtype, DType::kFloat16);
}

TEST_F(DrawInputsTest, IntegersThatNothingDescribesKeepTheirDType) {
  const DType dtypes[] = {DType::kInt64,  DType::kInt32,  DType::kInt16,  DType::kInt8,
                          DType::kUInt64, DType::kUInt32, DType::kUInt16, DType::kUInt8};
  for (const DType dtype : dtypes) {
    AddPlaceholder(absl::StrCat("x", DTypeName(dtype)), Meta(dtype, {1000}));
    module().AddAttribute(
        {.name = absl::StrCat("w", DTypeName(dtype)), .meta = Meta(dtype, {2, 3})});
  }
  // GraphNet's folders describe their inputs, if only with an empty record: its rule stays.
  AddPlaceholder("of_folder", Meta(DType::kInt64, {4}))->set_draw_spec(DrawSpec());
  const auto values = Run();
  ASSERT_OK(values);
  for (const DType dtype : dtypes) {
    EXPECT_EQ(values->at(absl::StrCat("x", DTypeName(dtype))).dtype, dtype);
    EXPECT_EQ(values->at(absl::StrCat("w", DTypeName(dtype))).dtype, dtype);
  }
  const std::vector<int64_t> drawn = Elements<int64_t>(values->at("xint64"));
  EXPECT_THAT(drawn, AllOf(Each(AllOf(Ge(0), Le(1))), Contains(0), Contains(1)));
  EXPECT_EQ(values->at("of_folder").dtype, DType::kFloat32);
}

TEST_F(DrawInputsTest, RealValuesAreShared) {
  // Nothing is known about them, so they could not be drawn.
  AddPlaceholder("x", nullptr);
  module().AddAttribute({.name = "w"});
  const auto bytes = std::make_shared<const std::string>("abcd");
  sample_.weights["x"] = {DType::kInt32, {1}, bytes};
  sample_.weights["w"] = {DType::kInt16, {2}, bytes};
  sample_.weights["other"] = {DType::kInt16, {2}, bytes};
  const auto values = Run({.max_bytes = 0});
  ASSERT_OK(values);
  EXPECT_THAT(*values, ElementsAre(Key("w"), Key("x")));
  EXPECT_EQ(values->at("x").bytes, bytes);
  EXPECT_EQ(values->at("w").bytes, bytes);
  EXPECT_EQ(values->at("w").dtype, DType::kInt16);
}

TEST_F(DrawInputsTest, AValueDoesNotDependOnTheOthers) {
  AddPlaceholder("x", Meta(DType::kFloat32, {100}));
  const auto alone = Run();
  AddPlaceholder("a", Meta(DType::kFloat32, {7}));
  AddPlaceholder("y", Meta(DType::kFloat32, {100}));
  module().AddAttribute({.name = "w", .meta = Meta(DType::kFloat32, {9})});
  const auto together = Run();
  ASSERT_OK(alone);
  ASSERT_OK(together);
  EXPECT_EQ(*together->at("x").bytes, *alone->at("x").bytes);
  EXPECT_NE(*together->at("y").bytes, *alone->at("x").bytes);
}

TEST_F(DrawInputsTest, ARenamedInputKeepsItsValue) {
  AddPlaceholder("w_0", Meta(DType::kFloat32, {100}));
  DrawSpec spec;
  spec.original_name = "L_weight_";
  graph_->placeholders()[0]->set_draw_spec(spec);
  AddPlaceholder("L_weight_", Meta(DType::kFloat32, {100}));
  module().AddAttribute({.name = "a", .meta = Meta(DType::kFloat32, {100}), .draw_spec = &spec});
  const auto values = Run();
  ASSERT_OK(values);
  EXPECT_EQ(*values->at("w_0").bytes, *values->at("L_weight_").bytes);
  EXPECT_EQ(*values->at("a").bytes, *values->at("L_weight_").bytes);
}

TEST_F(DrawInputsTest, SymbolicSizesTakeTheExampleValues) {
  module().AddSymbol("S0", 3);
  const SymExpr* symbol = module().SymSymbol("S0");
  const SymExpr* twice = module().SymBinary(SymExpr::Kind::kMul, module().SymInt(2), symbol);
  AddPlaceholder("x", Meta(DType::kFloat32, {symbol, 5, twice}));
  const auto values = Run();
  ASSERT_OK(values);
  EXPECT_THAT(values->at("x").shape, ElementsAre(3, 5, 6));
  EXPECT_EQ(values->at("x").bytes->size(), 4u * 90);
  module().AddSymbol("S0", std::nullopt);
  EXPECT_EQ(RunError(), "input x: a size has no value: its symbols lack examples");
}

TEST_F(DrawInputsTest, SymbolicIntegersAreData) {
  AddData(AddPlaceholder("s0", Meta(DType::kInt64, {}), "torch.SymInt"), 4);
  AddData(AddPlaceholder("s1", nullptr, "torch.SymInt"), 0);
  module().AddSymbol("s0", 9);  // the data wins
  for (const DrawOptions& options : {kGraphNet, kBench}) {
    const auto values = Run(options);
    ASSERT_OK(values);
    for (const char* name : {"s0", "s1"}) {
      EXPECT_EQ(values->at(name).dtype, DType::kInt64);
      EXPECT_TRUE(values->at(name).shape.empty());
    }
    EXPECT_THAT(Elements<int64_t>(values->at("s0")), ElementsAre(4));
    EXPECT_THAT(Elements<int64_t>(values->at("s1")), ElementsAre(0));
  }
}

TEST_F(DrawInputsTest, SymbolicIntegersWithoutDataAreTheExampleValue) {
  AddPlaceholder("s0", Meta(DType::kInt64, {}), "torch.SymInt");
  EXPECT_EQ(RunError(), "input s0: its value is not known");
  module().AddSymbol("s0", std::nullopt);
  EXPECT_EQ(RunError(), "input s0: its value is not known");
  module().AddSymbol("s0", -9);
  const auto values = Run();
  ASSERT_OK(values);
  EXPECT_EQ(values->at("s0").dtype, DType::kInt64);
  EXPECT_THAT(Elements<int64_t>(values->at("s0")), ElementsAre(-9));
}

TEST_F(DrawInputsTest, SymbolicIntegersBetweenBounds) {
  AddPlaceholder("s0", Meta(DType::kInt64, {}), "torch.SymInt")->set_draw_spec(Bounds(5, 5));
  const auto values = Run();
  ASSERT_OK(values);
  EXPECT_THAT(Elements<int64_t>(values->at("s0")), ElementsAre(5));
}

TEST_F(DrawInputsTest, NumbersAreTensorsWithoutDimensions) {
  AddData(AddPlaceholder("i", nullptr, "int"), 3);
  AddData(AddPlaceholder("f", nullptr, "float"), 0.1);
  AddData(AddPlaceholder("b", nullptr, "bool"), true);
  const auto values = Run();
  ASSERT_OK(values);
  for (const auto& [name, value] : *values) EXPECT_TRUE(value.shape.empty()) << name;
  EXPECT_EQ(values->at("i").dtype, DType::kInt64);
  EXPECT_THAT(Elements<int64_t>(values->at("i")), ElementsAre(3));
  EXPECT_EQ(values->at("f").dtype, DType::kFloat64);
  EXPECT_THAT(Elements<double>(values->at("f")), ElementsAre(0.1));
  EXPECT_EQ(values->at("b").dtype, DType::kBool);
  EXPECT_THAT(Elements<uint8_t>(values->at("b")), ElementsAre(1));
}

TEST_F(DrawInputsTest, ANumberWithoutAValueIsAnError) {
  AddPlaceholder("f", nullptr, "float");
  module().AddSymbol("f", 3);  // symbols are integers
  EXPECT_EQ(RunError(), "input f: its value is not known");
}

TEST_F(DrawInputsTest, MaxBytesLimitsTheTotal) {
  AddPlaceholder("x", Meta(DType::kFloat32, {10}));
  AddPlaceholder("y", Meta(DType::kFloat32, {10}));
  EXPECT_OK(Run({.max_bytes = 80}));
  EXPECT_THAT(Run({.max_bytes = 79}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("input y: ")));
  EXPECT_THAT(Run({.max_bytes = 39}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("input x: ")));
}

TEST_F(DrawInputsTest, ErrorsNameTheInput) {
  AddPlaceholder("x", nullptr);
  EXPECT_EQ(RunError(), "input x: its shape is not known");
}

TEST_F(DrawInputsTest, ASharedNameIsAnError) {
  AddPlaceholder("x", Meta(DType::kFloat32, {1}));
  module().AddAttribute({.name = "x", .meta = Meta(DType::kFloat32, {1})});
  EXPECT_EQ(RunError(), "input x: a placeholder and an attribute have this name");
}

TEST_F(DrawInputsTest, OnlyTheMainGraphHasInputs) {
  AddPlaceholder("x", Meta(DType::kFloat32, {1}));
  module().AddGraph("body")->Placeholder("y");
  const auto values = Run();
  ASSERT_OK(values);
  EXPECT_THAT(*values, ElementsAre(Key("x")));
}

TEST_F(DrawInputsTest, ASampleWithoutAGraphIsAnError) {
  Sample sample;
  sample.name = "s";
  EXPECT_EQ(DrawInputs(sample, {}).status().message(), "sample s has no graph");
  sample.module = std::make_unique<Module>();
  EXPECT_EQ(DrawInputs(sample, {}).status().message(), "sample s has no graph");
}

// PyTorch is the judge of the rounding.
TEST(DrawTest, FloatsOfEightBits) {
  const struct {
    DType dtype;
    at::ScalarType torch;
    float largest;
  } cases[] = {{DType::kFloat8E4M3FN, at::kFloat8_e4m3fn, 448},
               {DType::kFloat8E5M2, at::kFloat8_e5m2, 57344},
               {DType::kFloat8E4M3FNUZ, at::kFloat8_e4m3fnuz, 240},
               {DType::kFloat8E5M2FNUZ, at::kFloat8_e5m2fnuz, 57344},
               {DType::kFloat8E8M0FNU, at::kFloat8_e8m0fnu, 1e38}};
  for (const auto& test : cases) {
    SCOPED_TRACE(DTypeName(test.dtype));
    // All values, the midpoints between them, and what lies beside these.
    const at::Tensor all = at::arange(256, at::kInt).to(at::kByte).view(test.torch).to(at::kFloat);
    std::vector<Argument> numbers;
    std::vector<float> floats;
    const auto add = [&](float value) {
      if (!std::isfinite(value)) return;
      numbers.emplace_back(double{value});
      floats.push_back(value);
    };
    std::vector<float> values;
    for (int i = 0; i < 256; ++i) {
      const float value = all[i].item<float>();
      if (std::isfinite(value)) values.push_back(value);
    }
    std::sort(values.begin(), values.end());
    for (size_t i = 0; i < values.size(); ++i) {
      add(values[i]);
      if (i == 0) continue;
      const float middle = values[i - 1] / 2 + values[i] / 2;
      add(middle);
      add(std::nextafter(middle, 0.f));
      add(std::nextafter(middle, 3e38f));
    }
    for (const float factor : {1.01f, 1.03f, 1.05f, 1.07f, 2.f}) add(test.largest * factor);
    DrawSpec spec;
    spec.data = Argument::List(numbers);
    const Dim size(static_cast<int64_t>(numbers.size())), many(1000);
    const auto drawn =
        DrawTensor({.dtype = test.dtype, .has_shape = true, .shape = {&size, 1}}, &spec, "x", {});
    ASSERT_OK(drawn);
    const at::Tensor expected = at::tensor(floats).to(test.torch);
    const auto* bits = static_cast<const uint8_t*>(expected.const_data_ptr());
    const at::Tensor back = expected.to(at::kFloat);
    for (size_t i = 0; i < floats.size(); ++i) {
      if (test.dtype == DType::kFloat8E8M0FNU && floats[i] < 0) continue;
      const auto made = static_cast<uint8_t>((*drawn->bytes)[i]);
      if (std::isnan(back[static_cast<int64_t>(i)].item<float>())) {
        EXPECT_TRUE((made & 0x7f) == 0x7f || made == 0x80) << floats[i];
      } else {
        EXPECT_EQ(made, bits[i]) << floats[i];
      }
    }
    // Without data, all kinds of values are drawn, and none is a nan.
    const auto random =
        DrawTensor({.dtype = test.dtype, .has_shape = true, .shape = {&many, 1}}, nullptr, "x", {});
    ASSERT_OK(random);
    const at::Tensor made =
        at::from_blob(const_cast<char*>(random->bytes->data()), {1000}, at::kByte)
            .clone()
            .view(test.torch)
            .to(at::kFloat);
    EXPECT_FALSE(made.isnan().any().item<bool>());
    EXPECT_GT(std::set<char>(random->bytes->begin(), random->bytes->end()).size(), 5);
  }
}

}  // namespace
}  // namespace graphnet
