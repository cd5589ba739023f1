#include "graphnet/interp/inputs/weights.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "graphnet/ir/text/parser.h"
#include "tests/base/status_matchers.h"
#include "tests/interp/inputs/tensor.h"

namespace graphnet {
namespace {

template <typename T>
std::vector<T> Values(const TensorData& tensor) {
  std::vector<T> values(tensor.bytes->size() / sizeof(T));
  std::memcpy(values.data(), tensor.bytes->data(), tensor.bytes->size());
  return values;
}

// The bits are those of torch.tensor(…).to(dtype).view(torch.int16) in PyTorch 2.13.
TEST(ConvertFloatsTest, RoundsAsPyTorch) {
  const TensorData floats = Tensor<float>(
      DType::kFloat32, {1.0f, -2.5f, 0.1f, 1.00390625f, 1.01171875f, 65504.0f, 65519.0f, 65520.0f,
                        3.4028234663852886e38f, 1e-8f, 6e-8f, -0.0f});
  const auto bf16 = ConvertFloats(floats, DType::kBFloat16);
  ASSERT_OK(bf16);
  EXPECT_EQ(Values<uint16_t>(*bf16),
            (std::vector<uint16_t>{0x3F80, 0xC020, 0x3DCD, 0x3F80, 0x3F82, 0x4780, 0x4780, 0x4780,
                                   0x7F80, 0x322C, 0x3381, 0x8000}));
  const auto f16 = ConvertFloats(floats, DType::kFloat16);
  ASSERT_OK(f16);
  EXPECT_EQ(Values<uint16_t>(*f16),
            (std::vector<uint16_t>{0x3C00, 0xC100, 0x2E66, 0x3C04, 0x3C0C, 0x7BFF, 0x7BFF, 0x7C00,
                                   0x7C00, 0x0000, 0x0001, 0x8000}));
  const auto back = ConvertFloats(*bf16, DType::kFloat64);
  ASSERT_OK(back);
  EXPECT_EQ(Values<double>(*back)[2], 0.10009765625);
  EXPECT_EQ(back->shape, floats.shape);
  EXPECT_THAT(ConvertFloats(Tensor<int64_t>(DType::kInt64, {1}), DType::kFloat32),
              StatusIs(absl::StatusCode::kUnimplemented));
}

Sample SampleWith(TensorData weight) {
  Sample sample;
  auto module = ParseModule(
      "symbol S0 = 2\nattribute w : f32[S0]@cpu\n"
      "graph @forward(%x : f32[2], %l as \"List[Tensor]\") {\n  %w = get_attr w\n"
      "  %y = torch.add(%x, %w)\n  return (%y,)\n}\n",
      "test");
  EXPECT_OK(module);
  sample.module = *std::move(module);
  sample.weights["w"] = std::move(weight);
  return sample;
}

TEST(CheckWeightsTest, NamesTheWeightThatDoesNotFit) {
  const auto check = [](TensorData weight) {
    return std::string(CheckWeights(SampleWith(std::move(weight))).message());
  };
  const TensorData good = Tensor<float>(DType::kFloat32, {1, 2});
  EXPECT_EQ(check(good), "");
  EXPECT_EQ(check(Tensor<uint16_t>(DType::kBFloat16, {1, 2})),
            "weight w: is bf16, the graph says f32");
  EXPECT_EQ(check(Tensor<float>(DType::kFloat32, {1, 2, 3})),
            "weight w: has sizes [3], the graph says [2]");
  TensorData cut = good;
  cut.bytes = std::make_shared<const std::string>("1234567");
  EXPECT_EQ(check(cut), "weight w: has 7 bytes, its sizes take 8");
  Sample sample = SampleWith(good);
  sample.weights["l.0"] = good;
  EXPECT_OK(CheckWeights(sample));
  sample.weights["v"] = good;
  EXPECT_EQ(CheckWeights(sample).message(),
            "weight v: the graph has no attribute or input of that name");
}

// The numbers are tensor.mean(dtype=torch.double) and tensor.std() in PyTorch 2.13.
TEST(DescribeValuesTest, StatisticsOfFloats) {
  std::vector<float> ramp;
  for (int i = 0; i < 70; ++i) ramp.push_back(static_cast<float>(i) / 7 - 3);
  const TensorData floats = Tensor<float>(DType::kFloat32, ramp);
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
    const auto values = ConvertFloats(floats, dtype);
    ASSERT_OK(values);
    DrawSpec spec;
    std::vector<Argument> elements;
    DescribeValues(*values, &spec, &elements);
    EXPECT_TRUE(spec.has_mean && spec.has_std);
    EXPECT_EQ(spec.mean, 1.929);
    EXPECT_EQ(spec.std, 2.907);
    EXPECT_TRUE(spec.data.is_none());
  }
}

TEST(DescribeValuesTest, SmallTensorsBecomeLiterals) {
  DrawSpec spec;
  std::vector<Argument> elements;
  DescribeValues(Tensor<float>(DType::kFloat32, {1.0f / 3, -2.5e-7f, 1e4f}), &spec, &elements);
  EXPECT_EQ(spec.mean, 3333.444);
  EXPECT_EQ(spec.std, 5773.406);
  ASSERT_EQ(spec.data.elements().size(), 3u);
  EXPECT_EQ(spec.data.elements()[0].real(), 0.333333);
  EXPECT_EQ(spec.data.elements()[1].real(), 0);

  DrawSpec one;
  elements.clear();
  DescribeValues(Tensor<double>(DType::kFloat64, {0.5}), &one, &elements);
  EXPECT_EQ(one.std, 0);

  DrawSpec bits;
  elements.clear();
  DescribeValues(Tensor<char>(DType::kBool, {1, 0}), &bits, &elements);
  ASSERT_EQ(bits.data.elements().size(), 2u);
  EXPECT_TRUE(bits.data.elements()[0].boolean());
}

TEST(DescribeValuesTest, IntegersHaveBounds) {
  DrawSpec spec;
  std::vector<Argument> elements;
  std::vector<int8_t> many(100, 3);
  many[7] = -128;
  many[9] = 127;
  DescribeValues(Tensor<int8_t>(DType::kInt8, many), &spec, &elements);
  EXPECT_EQ(spec.min.integer(), -128);
  EXPECT_EQ(spec.max.integer(), 127);
  EXPECT_FALSE(spec.has_mean);
  EXPECT_TRUE(spec.data.is_none());

  DrawSpec wide;
  DescribeValues(Tensor<uint16_t>(DType::kUInt16, std::vector<uint16_t>(64, 65535)), &wide,
                 &elements);
  EXPECT_EQ(wide.max.integer(), 65535);
}

TEST(DescribeWeightsTest, KeepsExistingSpecs) {
  Sample sample = SampleWith(Tensor<float>(DType::kFloat32, {1, 3}));
  DescribeWeights(&sample);
  const DrawSpec* spec = sample.module->FindAttribute("w")->draw_spec;
  ASSERT_NE(spec, nullptr);
  EXPECT_EQ(spec->mean, 2);
  sample.weights["w"] = Tensor<float>(DType::kFloat32, {5, 5});
  DescribeWeights(&sample);
  EXPECT_EQ(sample.module->FindAttribute("w")->draw_spec->mean, 2);
}

// torch.export saves the inputs that a program was made with; a folder draws similar ones.
TEST(DescribeWeightsTest, DescribesInputsWithValuesToo) {
  Sample sample = SampleWith(Tensor<float>(DType::kFloat32, {1, 3}));
  Node* input = sample.module->main()->placeholders()[0];
  ASSERT_EQ(input->draw_spec(), nullptr);
  sample.weights[std::string(input->target())] = Tensor<int64_t>(DType::kInt64, {7, 9});
  DescribeWeights(&sample);
  ASSERT_NE(input->draw_spec(), nullptr);
  EXPECT_EQ(input->draw_spec()->data.elements()[1].integer(), 9);
}

TEST(FollowGraphTest, FollowsNamesDTypesAndRemovals) {
  Sample sample = SampleWith(Tensor<float>(DType::kFloat32, {1, 2}));
  sample.weights["l.0"] = Tensor<float>(DType::kFloat32, {3});
  const auto before = NamedMetas(*sample.module);
  Attribute attribute = *sample.module->FindAttribute("w");
  TensorMeta meta = *attribute.meta;
  meta.dtype = DType::kFloat64;
  attribute.meta = sample.module->InternMeta(meta);
  sample.module->AddAttribute(attribute);
  sample.module->main()->placeholders()[1]->set_target("m");
  ASSERT_OK(FollowGraph({{"l", "m"}}, before, &sample));
  ASSERT_TRUE(sample.weights.contains("m.0"));
  EXPECT_EQ(sample.weights["w"].dtype, DType::kFloat64);
  EXPECT_EQ(Values<double>(sample.weights["w"]), (std::vector<double>{1, 2}));
  EXPECT_OK(CheckWeights(sample));
  const auto again = NamedMetas(*sample.module);
  sample.module->EraseAllAttributes();
  ASSERT_OK(FollowGraph({}, again, &sample));
  EXPECT_FALSE(sample.weights.contains("w"));
}

}  // namespace
}  // namespace graphnet
