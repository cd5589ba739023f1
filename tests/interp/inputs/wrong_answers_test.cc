#include "graphnet/interp/inputs/wrong_answers.h"

#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "graphnet/ir/text/parser.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

template <typename T>
TensorData Tensor(DType dtype, std::vector<int64_t> shape, const std::vector<T>& elements) {
  std::string bytes(elements.size() * sizeof(T), '\0');
  if (!elements.empty()) std::memcpy(bytes.data(), elements.data(), bytes.size());
  return {dtype, std::move(shape), std::make_shared<const std::string>(std::move(bytes))};
}
TensorData Floats(std::vector<int64_t> shape, const std::vector<float>& elements) {
  return Tensor(DType::kFloat32, std::move(shape), elements);
}

// Returns what passes for the only output within one tolerance.
std::string Passes(const TensorData& output, const Tolerance& tolerance,
                   const std::map<std::string, TensorData>& values = {},
                   const std::vector<OutputForm>& forms = {}) {
  return FindWrongAnswer({output}, 0, forms, values, {tolerance}).what;
}

const Tolerance kUsual = ToleranceAt(kCustomaryToleranceLevel, ToleranceClass::kFloat32);

TEST(WrongAnswersTest, ZerosPassWhereNumbersVanish) {
  EXPECT_EQ(Passes(Floats({3}, {1e-21F, -2e-9F, 9e-6F}), kUsual), "zeros");
  EXPECT_EQ(Passes(Floats({3}, {1e-21F, -2e-9F, 9e-2F}), kUsual), "");
  EXPECT_EQ(Passes(Floats({3}, {1e-21F, -2e-9F, 9e-6F}), {}), "");
  EXPECT_EQ(Passes(Floats({2}, {0, -0.0F}), {}), "zeros");
  EXPECT_EQ(Passes(Tensor<int64_t>(DType::kInt64, {2}, {0, 0}), {}), "zeros");
  EXPECT_EQ(Passes(Tensor<uint8_t>(DType::kBool, {2}, {0, 0}), {}), "zeros");
  EXPECT_EQ(Passes(Tensor<uint16_t>(DType::kBFloat16, {2}, {0, 0x8000}), {}), "zeros");
  EXPECT_EQ(Passes(Tensor<float>(DType::kComplex64, {1}, {1e-9F, 1e-9F}), kUsual), "zeros");
  EXPECT_EQ(Passes(Tensor<float>(DType::kComplex64, {1}, {1e-9F, 1}), kUsual), "");
}

TEST(WrongAnswersTest, AConstantPassesWhereNumbersAgree) {
  EXPECT_EQ(Passes(Floats({3}, {4, 4, 4}), {}), "a constant");
  EXPECT_EQ(Passes(Floats({3}, {4, 4.00001F, 4}), kUsual), "a constant");
  EXPECT_EQ(Passes(Floats({3}, {4, 4.00001F, 5}), kUsual), "");
  EXPECT_EQ(Passes(Tensor<uint8_t>(DType::kBool, {3}, {1, 1, 1}), {}), "a constant");
  // Of one element, every answer is a constant.
  EXPECT_EQ(Passes(Floats({}, {4}), {}), "");
  EXPECT_EQ(Passes(Tensor<float>(DType::kComplex64, {}, {1, 2}), {}), "");
  const float nan = std::nanf("");
  EXPECT_EQ(Passes(Floats({2}, {nan, nan}), {}), "a constant");
}

TEST(WrongAnswersTest, InputsPassAsTheyAreAndSpread) {
  const std::map<std::string, TensorData> values = {
      {"x", Floats({2, 3}, {1, 2, 3, 4, 5, 6})},
      {"rows", Floats({3}, {7, 8, 9})},
      {"channels", Floats({2, 1}, {20, 30})},
      {"count", Tensor<int64_t>(DType::kInt64, {3}, {7, 8, 9})}};
  EXPECT_EQ(Passes(Floats({2, 3}, {1, 2, 3, 4, 5, 6.000001F}), kUsual, values), "input x");
  EXPECT_EQ(Passes(Floats({6}, {1, 2, 3, 4, 5, 6}), {}, values), "input x");
  EXPECT_EQ(Passes(Floats({2, 3}, {7, 8, 9, 7, 8, 9}), {}, values), "input rows");
  EXPECT_EQ(Passes(Floats({2, 3}, {20, 20, 20, 30, 30, 30}), {}, values), "input channels");
  EXPECT_EQ(Passes(Floats({1, 2, 2, 1}, {20, 20, 30, 30}), {}, values), "input channels");
  EXPECT_EQ(Passes(Floats({2, 3}, {7, 8, 9, 7, 8, 10}), {}, values), "");
  EXPECT_EQ(Passes(Floats({3}, {7, 8, 9.5F}), kUsual, values), "");
}

TEST(WrongAnswersTest, OtherOrdersAndOtherOutputsPass) {
  EXPECT_EQ(Passes(Floats({3}, {1, 2, 1}), {}), "its elements in another order");
  EXPECT_EQ(Passes(Floats({4}, {1, 1, 1, 1.5F}), {.atol = 1}), "a constant");
  EXPECT_EQ(Passes(Floats({3}, {1, 2, 3}), {}), "");
  const std::vector<TensorData> outputs = {Floats({3}, {1, 2, 3}), Floats({3}, {1, 2, 3.001F}),
                                           Floats({3}, {1, 2, 4})};
  EXPECT_EQ(FindWrongAnswer(outputs, 0, {}, {}, {{.atol = 0.01}}).what, "output 1");
  EXPECT_EQ(FindWrongAnswer(outputs, 0, {}, {}, {Tolerance()}).what, "");
  EXPECT_EQ(FindWrongAnswer(outputs, 2, {}, {}, {{.atol = 0.01}}).what, "");
}

TEST(WrongAnswersTest, TheStrictestToleranceIsFound) {
  std::vector<Tolerance> rising;
  for (int t = kMinToleranceLevel; t <= kCustomaryToleranceLevel; ++t)
    rising.push_back(ToleranceAt(t, ToleranceClass::kFloat32));
  for (const auto& [number, level] : {std::pair{1e-12F, 0}, {1e-9F, 1}, {5e-7F, 4}, {5e-6F, 5}}) {
    const WrongAnswer answer =
        FindWrongAnswer({Floats({2}, {number, number / 2})}, 0, {}, {}, rising);
    EXPECT_EQ(answer.what, "zeros");
    EXPECT_EQ(answer.tolerance, level) << number;
  }
}

// An answer that the graph itself gives is not wrong.
TEST(WrongAnswersTest, FormsSayWhatIsRight) {
  const auto module = ParseModule(R"(graphnet.module 1

graph @forward(%x : f32[2, 3], %y : f32[2, 3]) {
  %v = .view(%x, 6)
  %z = torch.zeros(3)
  %d = torch.add(%x, %y)
  %e = torch.add(%x, 0)
  return (%v, %z, %d, %d, %e, %x)
}
end
)",
                                  "forms.gn");
  ASSERT_OK(module);
  const std::vector<OutputForm> forms = FormsOfOutputs(**module);
  ASSERT_EQ(forms.size(), 6);
  const TensorData x = Floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const TensorData y = Floats({2, 3}, {0, 0, 0, 0, 0, 1});
  const TensorData d = Floats({2, 3}, {1, 2, 3, 4, 5, 7});
  TensorData v = x;
  v.shape = {6};
  const std::vector<TensorData> outputs = {v, Floats({3}, {0, 0, 0}), d, d, x, x};
  std::vector<std::string> found;
  for (size_t i = 0; i < outputs.size(); ++i)
    found.push_back(FindWrongAnswer(outputs, i, forms, {{"x", x}, {"y", y}}, {Tolerance()}).what);
  EXPECT_THAT(found, testing::ElementsAre("", "", "", "", "input x", ""));
}

TEST(WrongAnswersTest, EmptyAndUnknownTensors) {
  EXPECT_EQ(Passes(Floats({0, 3}, {}), {}), "");
  EXPECT_EQ(Passes(TensorData(), {}), "");
  EXPECT_EQ(Passes(Tensor<uint8_t>(DType::kFloat8E5M2, {2}, {0, 0}), {}), "zeros");
  EXPECT_EQ(Passes(Tensor<uint8_t>(DType::kFloat8E5M2, {2}, {1, 200}), {}), "");
}

TEST(WrongAnswersTest, IsDescribedInASentence) {
  const std::vector<WrongAnswer> answers = {{"zeros", 0}, {}, {"input x", 0}};
  EXPECT_EQ(DescribeWrongAnswers(PassedAnswers(answers)),
            "zeros would have passed as o0, input x would have passed as o2");
  EXPECT_EQ(DescribeWrongAnswers({}), "");
  EXPECT_EQ(
      DescribeWrongAnswers(std::vector<PassedAnswer>(6, {3, "zeros"})),
      "zeros would have passed as o3, zeros would have passed as o3, zeros would have passed as "
      "o3, zeros would have passed as o3, and more as 2 other outputs");
}

}  // namespace
}  // namespace graphnet
