// Tests the names by which weights of a checkpoint are found, and what is told of them.
#include "graphnet/formats/put_weights.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "graphnet/formats/formats.h"
#include "graphnet/ir/text/parser.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TensorData Floats(const std::vector<float>& values) {
  return {DType::kFloat32,
          {static_cast<int64_t>(values.size())},
          std::make_shared<const std::string>(reinterpret_cast<const char*>(values.data()),
                                              values.size() * sizeof(float))};
}

// A sample with attributes f32[2] of these names, which are parameters.
Sample WithAttributes(const std::vector<std::string>& names) {
  std::string text = "graphnet.module 1\n\n";
  for (const std::string& name : names)
    absl::StrAppend(&text, "attribute ", name, " : f32[2] as torch.nn.parameter.Parameter\n");
  absl::StrAppend(&text, "\ngraph @forward(%x : f32[2]) {\n  return (%x,)\n}\nend\n");
  absl::StatusOr<Sample> sample = ParseSample(text, "test.gn");
  EXPECT_TRUE(sample.ok()) << sample.status() << text;
  return *std::move(sample);
}

// A sample with inputs f32[2] that Dynamo has named.
Sample WithInputs(const std::vector<std::string>& names) {
  std::vector<std::string> inputs;
  for (const std::string& name : names) inputs.push_back(absl::StrCat("%", name, " : f32[2]"));
  absl::StatusOr<Sample> sample =
      ParseSample(absl::StrCat("graph @forward(", absl::StrJoin(inputs, ", "), ") {\n  return (%",
                               names[0], ",)\n}\n"),
                  "test.gn");
  EXPECT_TRUE(sample.ok()) << sample.status();
  return *std::move(sample);
}

Checkpoint Of(const std::vector<std::string>& names) {
  Checkpoint checkpoint = {.file = "c.pth"};
  for (size_t i = 0; i < names.size(); ++i)
    checkpoint.tensors[names[i]] = Floats({static_cast<float>(i), 1});
  return checkpoint;
}

float FirstOf(const Sample& sample, const std::string& name) {
  const auto it = sample.weights.find(name);
  return it == sample.weights.end() ? -1
                                    : *reinterpret_cast<const float*>(it->second.bytes->data());
}

TEST(PutWeightsTest, NamesAreTakenAsTheyAre) {
  Sample sample = WithAttributes({"a.w", "a.b"});
  const absl::StatusOr<PutWeights> put = PutInto(Of({"a.b", "a.w", "n"}), {}, &sample);
  ASSERT_TRUE(put.ok()) << put.status();
  EXPECT_EQ(put->num_put, 2u);
  EXPECT_EQ(put->Refusal(), "");
  EXPECT_THAT(put->unused, ElementsAre("n"));
  EXPECT_EQ(FirstOf(sample, "a.b"), 0);
  EXPECT_EQ(FirstOf(sample, "a.w"), 1);
}

TEST(PutWeightsTest, APrefixIsTakenOffOrPutBeforeThem) {
  Sample sample = WithAttributes({"a.w", "a.b"});
  absl::StatusOr<PutWeights> put =
      PutInto(Of({"state.module.a.b", "state.module.a.w"}), {}, &sample);
  ASSERT_TRUE(put.ok()) << put.status();
  EXPECT_EQ(put->prefix_removed, "state.module.");
  EXPECT_EQ(put->num_put, 2u);
  put = PutInto(Of({"b", "w"}), {}, &sample);
  ASSERT_TRUE(put.ok()) << put.status();
  EXPECT_EQ(put->prefix_added, "a.");
  EXPECT_EQ(FirstOf(sample, "a.w"), 1);
  put = PutInto(Of({"_orig_mod.a._orig_mod.b", "_orig_mod.a.w"}), {}, &sample);
  ASSERT_TRUE(put.ok()) << put.status();
  EXPECT_EQ(put->num_put, 2u);
  EXPECT_EQ(put->prefix_removed, "");
}

TEST(PutWeightsTest, ThePrefixWithMostWeightsCounts) {
  Sample sample = WithAttributes({"a.w", "a.b", "c"});
  const absl::StatusOr<PutWeights> put =
      PutInto(Of({"c", "m.a.w", "m.a.b", "m.c", "old.a.w"}), {}, &sample);
  ASSERT_TRUE(put.ok()) << put.status();
  EXPECT_EQ(put->prefix_removed, "m.");
  EXPECT_THAT(put->unused, ElementsAre("c", "old.a.w"));
}

TEST(PutWeightsTest, AmbiguousNamesAreRefused) {
  Sample sample = WithAttributes({"a.w", "a.b"});
  const auto two = PutInto(Of({"s.a.w", "s.a.b", "t.a.w", "t.a.b"}), {}, &sample).status();
  EXPECT_THAT(
      two.message(),
      HasSubstr("2 weights get a value if s. is taken off, and as many if t. is taken off"));
  const auto same = PutInto(Of({"a.w", "a.b", "_orig_mod.a.w"}), {}, &sample).status();
  EXPECT_THAT(same.message(),
              HasSubstr("a.w is ambiguous: it may be _orig_mod.a.w or a.w of the checkpoint"));
  EXPECT_THAT(sample.weights, IsEmpty());
}

TEST(PutWeightsTest, NamesThatDynamoMadeAreUnderstood) {
  const std::string weight = "L_self_modules_layer_1_modules_0_modules_conv_parameters_weight_";
  const std::string mean = "L_self_modules_layer_1_modules_0_modules_conv_buffers_running_mean_";
  const std::string token = "L_self_parameters_cls_token_";
  Sample sample = WithInputs({"L_x_", weight, mean, token});
  absl::StatusOr<PutWeights> put = PutInto(
      Of({"layer_1.0.conv.weight", "layer_1.0.conv.running_mean", "cls_token"}), {}, &sample);
  ASSERT_TRUE(put.ok()) << put.status();
  EXPECT_EQ(put->num_put, 3u);
  EXPECT_EQ(FirstOf(sample, weight), 0);
  EXPECT_EQ(FirstOf(sample, mean), 1);
  EXPECT_EQ(FirstOf(sample, token), 2);
  EXPECT_EQ(FirstOf(sample, "L_x_"), -1);
  put =
      PutInto(Of({"net.layer_1.0.conv.weight", "net.layer_1.0.conv.running_mean", "net.cls_token"}),
              {}, &sample);
  ASSERT_TRUE(put.ok()) << put.status();
  EXPECT_EQ(put->prefix_removed, "net.");
  // Two names that Dynamo spells alike.
  const auto alike =
      PutInto(Of({"layer_1.0.conv.weight", "layer-1.0.conv.weight"}), {}, &sample).status();
  EXPECT_THAT(alike.message(), HasSubstr("is ambiguous"));
}

TEST(PutWeightsTest, WhatIsMissingIsRefusedUnlessThePartIsWanted) {
  Sample sample = WithAttributes({"a.w", "a.b"});
  Checkpoint checkpoint = Of({"a.w", "other"});
  absl::StatusOr<PutWeights> put = PutInto(checkpoint, {}, &sample);
  ASSERT_TRUE(put.ok()) << put.status();
  EXPECT_EQ(put->Refusal(), "c.pth: 1 missing (a.b); --partial takes what fits");
  EXPECT_THAT(sample.weights, IsEmpty());
  checkpoint.tensors["a.b"] = Floats({1, 2, 3});
  put = PutInto(checkpoint, {}, &sample);
  ASSERT_TRUE(put.ok()) << put.status();
  EXPECT_EQ(put->Refusal(),
            "c.pth: 1 of another shape (a.b: f32[3] for f32[2]); --partial takes what fits");
  put = PutInto(checkpoint, {.is_partial = true}, &sample);
  ASSERT_TRUE(put.ok()) << put.status();
  EXPECT_EQ(put->Refusal(), "");
  EXPECT_EQ(put->num_put, 1u);
  EXPECT_EQ(sample.weights.size(), 1u);
}

TEST(PutWeightsTest, OtherDTypesAreConvertedIfThatIsWanted) {
  Sample sample = WithAttributes({"w"});
  Checkpoint checkpoint = {.file = "c.pth"};
  const uint16_t halves[] = {0x3c00, 0xc000};  // 1 and -2
  checkpoint.tensors["w"] = {
      DType::kFloat16,
      {2},
      std::make_shared<const std::string>(reinterpret_cast<const char*>(halves), sizeof(halves))};
  absl::StatusOr<PutWeights> put = PutInto(checkpoint, {.is_partial = true}, &sample);
  ASSERT_TRUE(put.ok()) << put.status();
  EXPECT_EQ(put->Refusal(),
            "c.pth: 1 of another dtype (w: f16[2] for f32[2]); --cast-weights converts floats");
  put = PutInto(checkpoint, {.casts = true}, &sample);
  ASSERT_TRUE(put.ok()) << put.status();
  EXPECT_EQ(put->num_cast, 1u);
  EXPECT_EQ(FirstOf(sample, "w"), 1);
}

TEST(PutWeightsTest, AConstantMayKeepItsValueAndAParameterMayNot) {
  absl::StatusOr<Sample> sample = ParseSample(
      "graphnet.module 1\n\nattribute c : f32[2] as torch.Tensor\n"
      "attribute w : f32[2] as torch.nn.parameter.Parameter\n"
      "\ngraph @forward(%x : f32[2]) {\n  return (%x,)\n}\nend\n",
      "test.gn");
  ASSERT_TRUE(sample.ok()) << sample.status();
  sample->weights["c"] = Floats({7, 7});
  sample->weights["w"] = Floats({8, 8});
  absl::StatusOr<PutWeights> put = PutInto(Of({"w"}), {}, &*sample);
  ASSERT_TRUE(put.ok()) << put.status();
  EXPECT_THAT(put->kept, ElementsAre("c"));
  EXPECT_EQ(put->Refusal(), "");
  EXPECT_EQ(FirstOf(*sample, "c"), 7);
  EXPECT_EQ(FirstOf(*sample, "w"), 0);
  put = PutInto(Of({"c"}), {}, &*sample);
  ASSERT_TRUE(put.ok()) << put.status();
  EXPECT_THAT(put->missing, ElementsAre("w"));
}

TEST(PutWeightsTest, DrawSpecsDescribeTheNewValues) {
  absl::StatusOr<Sample> sample = ParseSample(
      "graph @forward(%L_self_parameters_w_ : f32[100] {mean = 5.0, std = 9.0}) {\n"
      "  return (%L_self_parameters_w_,)\n}\n",
      "test.gn");
  ASSERT_TRUE(sample.ok()) << sample.status();
  Checkpoint checkpoint = {.file = "c.pth"};
  checkpoint.tensors["w"] = Floats(std::vector<float>(100, 3));
  const absl::StatusOr<PutWeights> put = PutInto(checkpoint, {}, &*sample);
  ASSERT_TRUE(put.ok()) << put.status();
  const DrawSpec* const spec = sample->module->main()->placeholders().front()->draw_spec();
  EXPECT_EQ(spec->mean, 3);
  EXPECT_EQ(spec->std, 0);
}

TEST(PutWeightsTest, NamesOfNothingButDotsTakeLinearTime) {
  Sample sample = WithAttributes({"w"});
  std::vector<std::string> names = {"w"};
  for (size_t i = 0; i < 50; ++i) names.push_back(std::string(1000000 + i, '.'));
  const auto put = PutInto(Of(names), {}, &sample);
  ASSERT_TRUE(put.ok()) << put.status();
  EXPECT_EQ(put->num_put, 1);
  EXPECT_EQ(put->unused.size(), 50);
}

TEST(PutWeightsTest, NamesOfAnotherModelAreRefused) {
  Sample sample = WithAttributes({"a.w"});
  EXPECT_THAT(PutInto(Of({"x"}), {.is_partial = true}, &sample).status().message(),
              HasSubstr("none of its 1 names is one of the program's"));
  Sample none = WithAttributes({});
  EXPECT_THAT(PutInto(Of({"x"}), {}, &none).status().message(),
              HasSubstr("no parameters or buffers"));
}

}  // namespace
}  // namespace graphnet
