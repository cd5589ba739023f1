#include "graphnet/interp/inputs/compare_weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/interp/inputs/tensor.h"

namespace graphnet {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(LargestDifferenceTest, OfOneDType) {
  const auto floats = [](const std::vector<float>& values) {
    return Tensor(DType::kFloat32, values);
  };
  EXPECT_EQ(LargestDifference(floats({1, 2, 3}), floats({1, 2.5, 2.75})), 0.5);
  EXPECT_EQ(LargestDifference(floats({kNan, kInf}), floats({kNan, kInf})), 0);
  EXPECT_TRUE(std::isnan(*LargestDifference(floats({1, 2}), floats({1, kNan}))));
  EXPECT_TRUE(std::isnan(*LargestDifference(floats({kInf}), floats({-kInf}))));
  EXPECT_EQ(LargestDifference(floats({}), floats({})), 0);
  EXPECT_EQ(LargestDifference(floats({1}), floats({1, 2})), std::nullopt);
  EXPECT_EQ(
      LargestDifference(Tensor<int64_t>(DType::kInt64, {5}), Tensor<int64_t>(DType::kInt64, {-5})),
      10);
  using Complex = std::complex<float>;
  EXPECT_EQ(LargestDifference(Tensor<Complex>(DType::kComplex64, {{1, 2}}),
                              Tensor<Complex>(DType::kComplex64, {{1, 5}})),
            3);
}

TEST(LargestDifferenceTest, OfSeveralDTypes) {
  // 1.5 is 0x3e00 as float16, 0x3fc0 as bfloat16.
  const TensorData half = Tensor<uint16_t>(DType::kFloat16, {0x3e00});
  const TensorData brain = Tensor<uint16_t>(DType::kBFloat16, {0x3fc0});
  EXPECT_EQ(LargestDifference(half, brain), 0);
  EXPECT_EQ(LargestDifference(half, Tensor<double>(DType::kFloat64, {1.25})), 0.25);
  EXPECT_EQ(LargestDifference(brain, Tensor<uint8_t>(DType::kUInt8, {1})), 0.5);
  EXPECT_EQ(LargestDifference(half, Tensor<std::complex<double>>(DType::kComplex128, {1.5})),
            std::nullopt);
  const TensorData small = Tensor<uint8_t>(DType::kFloat8E4M3FN, {1});
  EXPECT_EQ(LargestDifference(small, Tensor<uint8_t>(DType::kFloat8E4M3FN, {2})), std::nullopt);
}

TEST(CompareWeightsTest, NamesWeightsThatDiffer) {
  const std::map<std::string, TensorData> a = {
      {"gone", Tensor<float>(DType::kFloat32, {1})},
      {"half", Tensor<uint16_t>(DType::kFloat16, {0x3e00})},
      {"same", Tensor<float>(DType::kFloat32, {1, 2})},
      {"shape", Tensor<float>(DType::kFloat32, {1, 2})},
      {"value", Tensor<float>(DType::kFloat32, {1, 2})},
  };
  const std::map<std::string, TensorData> b = {
      {"half", Tensor<float>(DType::kFloat32, {1.5})},
      {"new", Tensor<float>(DType::kFloat32, {1})},
      {"same", Tensor<float>(DType::kFloat32, {1, 2})},
      {"shape", Tensor<float>(DType::kFloat32, {1})},
      {"value", Tensor<float>(DType::kFloat32, {1, 4})},
  };
  const WeightDifferences differences = CompareWeights(a, b);
  EXPECT_EQ(differences.compared, 4);
  std::string text;
  for (const WeightDifference& weight : differences.differences) {
    text += weight.name + " " +
            (weight.b == nullptr   ? "a"
             : weight.a == nullptr ? "b"
                                   : DescribeDifference(*weight.a, *weight.b, weight.largest)) +
            "\n";
  }
  EXPECT_EQ(text,
            "gone a\n"
            "half f16[1] became f32[1], by at most 0\n"
            "new b\n"
            "shape f32[2] became f32[1]\n"
            "value f32[2], by at most 2\n");
  EXPECT_TRUE(CompareWeights(a, a).differences.empty());
}

}  // namespace
}  // namespace graphnet
