#include "graphnet/interp/rounding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ATen/ATen.h"
#include "absl/strings/str_cat.h"
#include "graphnet/interp/inputs/random_noise.h"
#include "graphnet/interp/measure_rounding.h"
#include "graphnet/interp/random_rounding.h"
#include "graphnet/interp/torch/tensors.h"
#include "tests/base/status_matchers.h"
#include "tests/interp/run_text.h"

namespace graphnet {
namespace {

TensorData Floats(const std::vector<float>& numbers) {
  TensorData data;
  data.dtype = DType::kFloat32;
  data.shape = {static_cast<int64_t>(numbers.size())};
  data.bytes = std::make_shared<const std::string>(reinterpret_cast<const char*>(numbers.data()),
                                                   numbers.size() * sizeof(float));
  return data;
}

TensorData DataOf(const at::Tensor& tensor) {
  auto data = ToTensorData(tensor);
  EXPECT_OK(data);
  return *std::move(data);
}

using Roundings = std::map<std::string, OutputRounding>;

Roundings Measure(absl::string_view text, const std::vector<at::Tensor>& inputs,
                  std::map<std::string, TensorData> exact = {}) {
  const auto module = Parse(text);
  auto executable = Compile(*module);
  EXPECT_OK(executable);
  MeasureRoundingOptions options;
  options.exact = std::move(exact);
  auto measured = MeasureRounding(
      [&](const RunOptions& how) {
        std::vector<c10::IValue> values;
        for (const at::Tensor& input : inputs) values.emplace_back(input.clone());
        return (*executable)->Run(std::move(values), how);
      },
      options);
  EXPECT_OK(measured);
  return *std::move(measured);
}

TEST(RandomNoiseTest, MovesEachNumberToANeighbourOrNot) {
  std::vector<float> numbers(100'000);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::sqrt(static_cast<float>(i) + 0.3F);
  std::vector<float> moved = numbers;
  std::vector<uint32_t> bits(moved.size());
  std::memcpy(bits.data(), moved.data(), bits.size() * sizeof(float));
  AddNoiseF32(bits.data(), bits.size(), 0, {.units = 1, .seed = 5});
  std::memcpy(moved.data(), bits.data(), bits.size() * sizeof(float));
  int up = 0;
  int down = 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (moved[i] == numbers[i]) continue;
    const bool is_up = moved[i] == std::nextafter(numbers[i], 1e9F);
    ASSERT_TRUE(is_up || moved[i] == std::nextafter(numbers[i], -1e9F)) << i;
    ++(is_up ? up : down);
  }
  EXPECT_NEAR(up, 33'333, 1'000);
  EXPECT_NEAR(down, 33'333, 1'000);
}

TEST(RandomNoiseTest, LeavesWhatIsExactOrHasNoNeighbour) {
  const float infinite = std::numeric_limits<float>::infinity();
  const std::vector<float> numbers = {0,         -0.0F,
                                      1,         -7,
                                      1024,      infinite,
                                      -infinite, std::numeric_limits<float>::quiet_NaN(),
                                      1e-40F,    std::numeric_limits<float>::max()};
  std::vector<uint32_t> bits(numbers.size());
  std::memcpy(bits.data(), numbers.data(), bits.size() * sizeof(float));
  const std::vector<uint32_t> before = bits;
  for (uint32_t seed = 0; seed < 50; ++seed) {
    AddNoiseF32(bits.data(), bits.size() - 1, 0, {.units = 8, .seed = seed, .leaves_whole = true});
    EXPECT_EQ(bits, before);
  }
  std::vector<uint32_t> greatest = {before.back()};
  for (uint32_t seed = 0; seed < 50; ++seed)
    AddNoiseF32(greatest.data(), 1, 0, {.units = 8, .seed = seed});
  float number;
  std::memcpy(&number, greatest.data(), sizeof number);
  EXPECT_TRUE(std::isfinite(number));
}

TEST(RandomNoiseTest, KnowsWholeNumbers) {
  const std::vector<float> whole = {0, -3, 1e30F, std::numeric_limits<float>::infinity()};
  const std::vector<float> broken = {0, -3, 2.5F};
  EXPECT_TRUE(AreWholeF32(whole.data(), whole.size()));
  EXPECT_FALSE(AreWholeF32(broken.data(), broken.size()));
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16}) {
    const at::Tensor tensor = at::tensor({0.0, -3.0, 12.0}).to(type);
    const at::Tensor other = at::tensor({0.0, -3.0, 12.5}).to(type);
    const auto are_whole = type == at::kHalf ? AreWholeF16 : AreWholeBF16;
    EXPECT_TRUE(are_whole(static_cast<const uint16_t*>(tensor.const_data_ptr()), 3));
    EXPECT_FALSE(are_whole(static_cast<const uint16_t*>(other.const_data_ptr()), 3));
  }
}

TEST(RandomNoiseTest, ThreadsDoNotChangeIt) {
  std::vector<uint16_t> whole(1000, 0x3F93);
  std::vector<uint16_t> parts = whole;
  AddNoiseBF16(whole.data(), whole.size(), 0, {.seed = 9});
  AddNoiseBF16(parts.data(), 400, 0, {.seed = 9});
  AddNoiseBF16(parts.data() + 400, 600, 400, {.seed = 9});
  EXPECT_EQ(whole, parts);
}

TEST(RandomRoundingTest, MovesResultsThatWereRoundedAndNoOthers) {
  const at::Tensor x = at::rand({40, 50}, at::TensorOptions(at::kFloat)) + 0.1;
  for (const auto& [call, moves] :
       std::vector<std::pair<std::string, bool>>{{"aten.exp.default(%x)", true},
                                                 {"aten.mul.Tensor(%x, %x)", true},
                                                 {"aten.matmul.default(%x, %w)", true},
                                                 {"torch.nn.functional.softmax(%x, -1)", true},
                                                 {"aten.gelu.default(%x)", true},
                                                 {"aten.add.Tensor(%whole, 1)", false},
                                                 {"aten.div.Tensor(%whole, 3)", true},
                                                 {"aten.relu.default(%x)", false},
                                                 {"aten.t.default(%x)", false},
                                                 {"aten.clone.default(%x)", false},
                                                 {"aten.floor.default(%x)", false},
                                                 {"aten.max_pool2d.default(%x3, [2, 2])", false}}) {
    const std::string text = absl::StrCat(
        "graph @forward(%x, %w) {\n  %scaled = aten.mul.Tensor(%x, 9)\n  %x3 = "
        "aten.unsqueeze.default(%x, 0)\n"
        "  %whole = aten.floor.default(%scaled)\n  %y = ",
        call, "\n  return (%y,)\n}\n");
    const std::vector<c10::IValue> inputs = {x, x.t().contiguous()};
    const at::Tensor plain = Only(RunText(text, inputs));
    at::Tensor moved;
    {
      const RandomRounding rounding({.seed = 3});
      moved = Only(RunText(text, inputs));
    }
    EXPECT_EQ(!moved.equal(plain), moves) << call;
    EXPECT_TRUE(at::allclose(moved, plain, 1e-4, 1e-5)) << call;
    EXPECT_TRUE(Only(RunText(text, inputs)).equal(plain)) << "it outlives its scope: " << call;
  }
}

TEST(MeasureRoundingTest, ExplainsTheDistanceFromFloat64) {
  // A chain that float32 computes with some error. That error is rounding, and must be called so.
  constexpr absl::string_view kChain =
      "graph @forward(%x, %w) {\n"
      "  %a = aten.matmul.default(%x, %w)\n"
      "  %b = aten.tanh.default(%a)\n"
      "  %c = aten.matmul.default(%b, %w)\n"
      "  %d = torch.nn.functional.softmax(%c, -1)\n"
      "  %e = aten.sub.Tensor(%d, %b)\n"
      "  %f = aten.sum.dim_IntList(%e, [0])\n"
      "  return (%f,)\n"
      "}\n";
  at::manual_seed(1);
  const at::Tensor x = at::randn({64, 64});
  const at::Tensor w = at::randn({64, 64}) * 0.2;
  const Roundings measured = Measure(kChain, {x, w});
  const at::Tensor exact =
      Only(RunText(kChain, {x.to(at::kDouble), w.to(at::kDouble)})).to(at::kFloat);
  const OutputRounding& o0 = measured.at("o0");
  const RoundingFinding finding = JudgeRounding(o0, DataOf(exact));
  EXPECT_EQ(finding.verdict, RoundingVerdict::kRounding) << finding.Text();
  // A step that is left out is not.
  const at::Tensor other = exact * (1 + 1e-4);
  EXPECT_EQ(JudgeRounding(o0, DataOf(other)).verdict, RoundingVerdict::kBeyond);
  EXPECT_GT(JudgeRounding(o0, DataOf(other)).ratio, 5);
  EXPECT_EQ(JudgeRounding(o0, o0.value).verdict, RoundingVerdict::kEqual);
  EXPECT_EQ(JudgeRounding(o0, DataOf(exact.to(at::kDouble))).verdict, RoundingVerdict::kOtherForm);
}

TEST(MeasureRoundingTest, ATieMayFallEitherWay) {
  // The second and third element differ by one unit in the last place of a sum.
  constexpr absl::string_view kChoice =
      "graph @forward(%x) {\n"
      "  %a = aten.mul.Tensor(%x, 1.1)\n"
      "  %i = aten.argmax.default(%a)\n"
      "  return (%i, %a)\n"
      "}\n";
  const float two = 2.2F;
  const at::Tensor x = at::tensor({0.3F, two, std::nextafter(two, 3.0F), -1.0F});
  const Roundings measured = Measure(kChoice, {x});
  const RoundingFinding other =
      JudgeRounding(measured.at("o0"), DataOf(at::scalar_tensor(1, at::kLong)));
  EXPECT_EQ(other.verdict, RoundingVerdict::kDecision) << other.Text();
  EXPECT_EQ(other.decision, "aten::argmax at %i");
  EXPECT_EQ(JudgeRounding(measured.at("o0"), DataOf(at::scalar_tensor(0, at::kLong))).verdict,
            RoundingVerdict::kBeyond);
}

TEST(MeasureRoundingTest, WhatFollowsFromADecisionIsJudgedWithIt) {
  constexpr absl::string_view kRounded =
      "graph @forward(%x) {\n"
      "  %a = aten.mul.Tensor(%x, 1.1)\n"
      "  %f = aten.floor.default(%a)\n"
      "  %y = aten.exp.default(%f)\n"
      "  return (%y,)\n"
      "}\n";
  // 1.1 times the first number is on either side of 3.
  const at::Tensor x = at::tensor({2.7272727F, 0.4F});
  const OutputRounding o0 = Measure(kRounded, {x}).at("o0");
  const auto judged = [&](double first, double second) {
    return JudgeRounding(o0, DataOf(at::tensor({first, second}).floor().exp().to(at::kFloat)))
        .verdict;
  };
  EXPECT_TRUE(judged(2, 0) <= RoundingVerdict::kDecision);
  EXPECT_TRUE(judged(3, 0) <= RoundingVerdict::kDecision);
  EXPECT_NE(judged(2, 0), judged(3, 0));
  EXPECT_EQ(judged(4, 0), RoundingVerdict::kBeyond);
  EXPECT_EQ(judged(3, 1), RoundingVerdict::kBeyond);
}

TEST(MeasureRoundingTest, ExplainsA16BitSumInParts) {
  at::manual_seed(4);
  const at::Tensor x = at::randn({4, 512}).to(at::kHalf);
  const at::Tensor w = at::randn({64, 512}).to(at::kHalf);
  const Roundings by =
      Measure(R"(graph @forward(%x : f16[4, 512]@cpu {}, %w : f16[64, 512]@cpu {}) {
    %y = torch.nn.functional.linear(%x, %w)
    return %y
  })",
              {x, w});
  const auto part = [&](int64_t from, int64_t to) {
    const at::Tensor sum =
        at::linear(x.slice(1, from, to).to(at::kFloat), w.slice(1, from, to).to(at::kFloat));
    return sum.to(at::kHalf);
  };
  const at::Tensor two = part(0, 256) + part(256, 512);
  EXPECT_EQ(JudgeRounding(by.at("o0"), DataOf(two)).verdict, RoundingVerdict::kRounding);
  // Each partial sum in 16 bits is another precision.
  at::Tensor each = at::zeros({4, 64}, at::kHalf);
  for (int64_t k = 0; k < 512; ++k) each = each + part(k, k + 1);
  EXPECT_EQ(JudgeRounding(by.at("o0"), DataOf(each)).verdict, RoundingVerdict::kBeyond);
}

TEST(MeasureRoundingTest, ExplainsATransformByAMatrix) {
  at::manual_seed(5);
  const at::Tensor x = at::randn({8, 128});
  const Roundings by = Measure(R"(graph @forward(%x : f32[8, 128]@cpu {}) {
    %f = torch.fft.fft(%x)
    %y = torch.real(%f)
    return %y
  })",
                               {x});
  const at::Tensor k = at::arange(128, at::kDouble);
  const at::Tensor cosines = at::cos(at::outer(k, k) * (2 * M_PI / 128)).to(at::kFloat);
  at::Tensor y = at::zeros({8, 128});
  for (int64_t i = 0; i < 128; ++i) y = y + at::outer(x.select(1, i), cosines.select(0, i));
  EXPECT_EQ(JudgeRounding(by.at("o0"), DataOf(y)).verdict, RoundingVerdict::kRounding);
}

TEST(JudgeRoundingTest, TakesOneRunForADecision) {
  OutputRounding by;
  by.value = Floats({1, 2, 3});
  by.spread = Floats({1e-6F, 1e-6F, 1e-6F});
  by.degrees = 3;
  by.otherwise = {{Floats({10, 2, 3}), "aten::argmax at %i"},
                  {Floats({1, 2, 30}), "aten::gt at %g"}};
  const RoundingFinding finding = JudgeRounding(by, Floats({1, 2, 30}));
  EXPECT_EQ(finding.verdict, RoundingVerdict::kDecision);
  EXPECT_EQ(finding.decision, "aten::gt at %g");
  EXPECT_EQ(JudgeRounding(by, Floats({10, 2, 30})).verdict, RoundingVerdict::kBeyond);
}

TEST(JudgeRoundingTest, TheExactResultIsNotEqual) {
  OutputRounding by;
  by.value = Floats({1, 2, 0.0F});
  by.spread = Floats({1e-7F, 1e-7F, 1e-7F});
  by.degrees = 3;
  by.exact = Floats({1.0000001F, 2, 0.0F});
  EXPECT_EQ(JudgeRounding(by, Floats({1.0000001F, 2, 0.0F})).verdict, RoundingVerdict::kRounding);
  EXPECT_EQ(JudgeRounding(by, Floats({1, 2, -0.0F})).verdict, RoundingVerdict::kEqual);
}

TEST(JudgeRoundingTest, CallsBlindWhatExplainsZeros) {
  OutputRounding by;
  by.value = Floats({1, 2, 3});
  by.spread = Floats({5, 5, 5});
  by.degrees = 3;
  EXPECT_EQ(JudgeRounding(by, Floats({1, 2, 4})).verdict, RoundingVerdict::kBlind);
  EXPECT_EQ(JudgeRounding(by, Floats({1, 2, 4000})).verdict, RoundingVerdict::kBeyond);
  OutputRounding zeros = by;
  zeros.value = Floats({0, 0, 0});
  EXPECT_EQ(JudgeRounding(zeros, Floats({0, 0, 1})).verdict, RoundingVerdict::kBlind);
  EXPECT_EQ(JudgeRounding(zeros, Floats({0, 0, 4000})).verdict, RoundingVerdict::kBeyond);
  EXPECT_EQ(JudgeRounding(by, Floats({1, 2, 3})).verdict, RoundingVerdict::kEqual);
  by.spread = Floats({1e-6F, 1e-6F, 1e-6F});
  EXPECT_EQ(JudgeRounding(by, Floats({1, 2, 3.000001F})).verdict, RoundingVerdict::kRounding);
  EXPECT_EQ(JudgeRounding(by, Floats({1, 2, 4})).verdict, RoundingVerdict::kBeyond);
}

TEST(JudgeRoundingTest, NanAndInfinityAreValues) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinite = std::numeric_limits<float>::infinity();
  OutputRounding by;
  by.value = Floats({1, nan, infinite});
  by.spread = Floats({1e-6F, 0, 0});
  EXPECT_TRUE(JudgeRounding(by, Floats({1.0000001F, nan, infinite})).is_explained());
  EXPECT_EQ(JudgeRounding(by, Floats({1, nan, nan})).verdict, RoundingVerdict::kBeyond);
  EXPECT_EQ(JudgeRounding(by, Floats({1, 0, infinite})).verdict, RoundingVerdict::kBeyond);
  EXPECT_EQ(JudgeRounding(by, Floats({nan, nan, infinite})).verdict, RoundingVerdict::kBeyond);
  EXPECT_EQ(JudgeRounding(by, Floats({1, nan, -infinite})).verdict, RoundingVerdict::kBeyond);
}

TEST(JudgeRoundingTest, TheLevelFollowsFromTheSpread) {
  OutputRounding by;
  by.value = Floats({1, 1, 1});
  by.degrees = 3;
  by.spread = Floats({1e-9F, 1e-9F, 1e-9F});
  const auto strict = DerivedLevel(by);
  by.spread = Floats({1e-3F, 1e-9F, 1e-9F});
  const auto lenient = DerivedLevel(by);
  ASSERT_TRUE(strict.has_value());
  ASSERT_TRUE(lenient.has_value());
  EXPECT_LT(*strict, *lenient);
  by.spread = Floats({1e9F, 1, 1});
  EXPECT_FALSE(DerivedLevel(by).has_value());
}

}  // namespace
}  // namespace graphnet
