#include "graphnet/evaluate/compare_outputs.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace graphnet {
namespace {

template <typename T>
TensorData Tensor(DType dtype, const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  TensorData data;
  data.dtype = dtype;
  data.shape = {static_cast<int64_t>(values.size())};
  data.bytes = std::make_shared<const std::string>(std::move(bytes));
  return data;
}

TensorData Floats(const std::vector<float>& values) { return Tensor(DType::kFloat32, values); }

// Returns the first level at which the outputs are right; one beyond the last if there is none.
int RightFrom(const OutputComparison& output, ToleranceClass dtypes) {
  int t = kMaxToleranceLevel + 1;
  while (t > kMinToleranceLevel && output.IsRight(t - 1, dtypes)) --t;
  for (int below = kMinToleranceLevel; below < t; ++below)
    EXPECT_FALSE(output.IsRight(below, dtypes));
  return t;
}

TEST(CompareOutputsTest, LevelsFollowTheTable) {
  for (const double difference : {0.0, 1e-9, 3e-7, 1e-5, 2e-3, 0.5, 10.0, 1e6, 1e12}) {
    for (const double expected : {0.0, 1.0, -123.0}) {
      const OutputsVerdict verdict =
          CompareOutputs({Tensor<double>(DType::kFloat64, {7, expected})},
                         {Tensor<double>(DType::kFloat64, {7, expected + difference})});
      ASSERT_EQ(verdict.outputs.size(), 1U);
      for (int c = 0; c < kNumToleranceClasses; ++c) {
        const auto dtypes = static_cast<ToleranceClass>(c);
        int first = kMinToleranceLevel;
        const double distance = std::abs(expected + difference - expected);
        while (first <= kMaxToleranceLevel) {
          const Tolerance tolerance = ToleranceAt(first, dtypes);
          if (distance <= tolerance.atol + tolerance.rtol * std::abs(expected)) break;
          ++first;
        }
        EXPECT_EQ(RightFrom(verdict.outputs[0], dtypes), first) << difference << " " << expected;
      }
    }
  }
}

TEST(CompareOutputsTest, EqualInEveryBit) {
  const OutputsVerdict verdict = CompareOutputs({Floats({1, -2})}, {Floats({1, -2})});
  EXPECT_EQ(verdict.status, Outcome::kCorrect);
  EXPECT_TRUE(verdict.outputs[0].equal);
  EXPECT_EQ(verdict.outputs[0].max_diff, 0);
}

TEST(CompareOutputsTest, EmptyOutputsAreEqual) {
  const OutputsVerdict verdict = CompareOutputs({Floats({})}, {Floats({})});
  EXPECT_TRUE(verdict.outputs[0].equal);
  EXPECT_EQ(verdict.outputs[0].mean_diff, 0);
}

TEST(CompareOutputsTest, NanIsNeverRightAndInfinityIsItself) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  OutputsVerdict verdict = CompareOutputs({Floats({nan})}, {Floats({nan})});
  EXPECT_EQ(verdict.status, Outcome::kCorrect);
  EXPECT_FALSE(verdict.outputs[0].equal);
  EXPECT_EQ(verdict.outputs[0].close, 0U);
  EXPECT_TRUE(std::isnan(verdict.outputs[0].max_diff));
  verdict = CompareOutputs({Floats({infinity, 1})}, {Floats({infinity, 1})});
  EXPECT_TRUE(verdict.outputs[0].equal);
  verdict = CompareOutputs({Floats({infinity})}, {Floats({-infinity})});
  EXPECT_EQ(verdict.outputs[0].close, 0U);
  verdict = CompareOutputs({Floats({1})}, {Floats({infinity})});
  EXPECT_EQ(verdict.status, Outcome::kNotFinite);
}

TEST(CompareOutputsTest, OtherDTypesShapesAndNumbersAreMismatches) {
  EXPECT_EQ(CompareOutputs({Floats({1})}, {}).status, Outcome::kShapeMismatch);
  EXPECT_EQ(CompareOutputs({Floats({1})}, {Floats({1, 2})}).status, Outcome::kShapeMismatch);
  const OutputsVerdict verdict =
      CompareOutputs({Floats({1})}, {Tensor<int32_t>(DType::kInt32, {1})});
  EXPECT_EQ(verdict.status, Outcome::kTypeMismatch);
  EXPECT_EQ(verdict.reason, "output 0 is int32, expected float32");
}

TEST(CompareOutputsTest, IntegersThatAreTheSameDoubleAreNotEqual) {
  const int64_t big = (int64_t{1} << 60) + 1;
  const OutputsVerdict verdict = CompareOutputs({Tensor<int64_t>(DType::kInt64, {big})},
                                                {Tensor<int64_t>(DType::kInt64, {big + 1})});
  EXPECT_FALSE(verdict.outputs[0].equal);
}

TEST(CompareOutputsTest, HalvesAndComplexNumbers) {
  OutputsVerdict verdict = CompareOutputs({Tensor<uint16_t>(DType::kFloat16, {0x3C00})},   // 1
                                          {Tensor<uint16_t>(DType::kFloat16, {0x4000})});  // 2
  EXPECT_EQ(verdict.outputs[0].max_diff, 1);
  verdict = CompareOutputs({Tensor<uint16_t>(DType::kBFloat16, {0x3F80})},   // 1
                           {Tensor<uint16_t>(DType::kBFloat16, {0x4000})});  // 2
  EXPECT_EQ(verdict.outputs[0].max_diff, 1);
  TensorData expected = Tensor<float>(DType::kComplex64, {0, 0});
  TensorData actual = Tensor<float>(DType::kComplex64, {3, 4});
  expected.shape = actual.shape = {1};
  EXPECT_EQ(CompareOutputs({expected}, {actual}).outputs[0].max_diff, 5);
}

}  // namespace
}  // namespace graphnet
