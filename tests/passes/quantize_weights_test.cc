// quantize-weights: a weight becomes what ATen rounds it to, stored or computed in the run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "ATen/ATen.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/prepare.h"
#include "graphnet/interp/tensors.h"
#include "graphnet/interp/torch/tensors.h"
#include "graphnet/ir/sample.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/passes/pipeline.h"
#include "tests/base/status_matchers.h"
#include "tests/ir/text/parsed_module.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;

using Values = std::map<std::string, TensorData>;

absl::StatusOr<Values> RunOn(const Module& module, const Values& values) {
  ASSIGN_OR_RETURN(const PreparedRun prepared, PrepareRun(module, values));
  ASSIGN_OR_RETURN(const auto outputs, prepared.executable->Run(prepared.inputs));
  return NameOutputs(outputs);
}

struct Case {
  std::string options;
  std::string dtype;
  at::ScalarType type;
  std::vector<int64_t> shape;  // of the weight; two dimensions are a linear layer
  int64_t group;               // numbers that share a scale
  double levels;
  size_t bytes;  // of the stored integers
};

// Rounds as the header of the pass says, number by number.
at::Tensor Rounded(const at::Tensor& weight, const Case& c) {
  const at::Tensor groups = weight.to(at::kDouble).reshape({-1, c.group});
  at::Tensor result = at::empty_like(groups);
  for (int64_t g = 0; g < groups.size(0); ++g) {
    const float largest = groups[g].abs().max().item<float>();
    // PyTorch computes the scale in float32 and rounds it to the dtype.
    const at::Tensor scale = at::scalar_tensor(largest / static_cast<float>(c.levels), at::kFloat)
                                 .to(c.type)
                                 .to(at::kFloat);
    const float step = scale.item<float>();
    for (int64_t i = 0; i < c.group; ++i) {
      const float number = groups[g][i].item<float>();
      const float level = step == 0 ? 0 : std::nearbyint(number / step);
      result[g][i] = static_cast<double>(
          std::min(std::max(level, static_cast<float>(-c.levels)), static_cast<float>(c.levels)) *
          step);
    }
  }
  return result.reshape(weight.sizes()).to(c.type);
}

TEST(QuantizeWeightsTest, WeightsAreRoundedAsTheHeaderSays) {
  const Case cases[] = {
      {"bits=8", "f32", at::kFloat, {6, 8}, 8, 127, 48},
      {"bits=8,group=4", "f32", at::kFloat, {6, 8}, 4, 127, 48},
      {"bits=4", "f32", at::kFloat, {6, 64}, 32, 7, 192},
      {"bits=4,group=2", "bf16", at::kBFloat16, {6, 8}, 2, 7, 24},
      {"bits=8", "f16", at::kHalf, {6, 8}, 8, 127, 48},
      {"bits=8", "f32", at::kFloat, {4, 3, 3, 3}, 27, 127, 108},
      {"bits=4", "f32", at::kFloat, {4, 2, 3, 3}, 18, 7, 36},
  };
  at::manual_seed(3);
  for (const Case& c : cases) {
    at::Tensor weight = at::randn(c.shape).to(c.type);
    weight[1].zero_();  // a channel without a scale of its own
    const bool is_linear = c.shape.size() == 2;
    const std::string x =
        is_linear ? absl::StrCat("2, ", c.shape[1]) : absl::StrCat("1, ", c.shape[1], ", 5, 5");
    const std::string text =
        absl::StrCat("attribute w : ", c.dtype, "[", absl::StrJoin(c.shape, ", "),
                     "]@cpu\ngraph @forward(%x : ", c.dtype, "[", x,
                     "]@cpu) {\n  %w = get_attr w : ", c.dtype, "[", absl::StrJoin(c.shape, ", "),
                     "]@cpu\n  %y = ", is_linear ? "torch.nn.functional.linear" : "torch.conv2d",
                     "(%x, %w)\n  return (%y,)\n}\n");
    Values inputs;
    inputs["x"] = *ToTensorData(is_linear ? at::randn({2, c.shape[1]}).to(c.type)
                                          : at::randn({1, c.shape[1], 5, 5}).to(c.type));
    Values rounded = inputs;
    rounded["w"] = *ToTensorData(Rounded(weight, c));
    const auto expected = RunOn(*Parse(text), rounded);
    ASSERT_OK(expected);
    for (const bool is_known : {false, true}) {
      Sample sample;
      sample.name = "test";
      sample.module.reset(Parse(text).release());
      sample.weights["w"] = *ToTensorData(weight);
      PipelineOptions options = {.verify_each = true};
      if (is_known) options.run_constants = RunOn;
      const auto results = RunPipeline(
          *ParsePipeline(absl::StrCat("quantize-weights{", c.options, "}")), &sample, options);
      ASSERT_OK(results) << c.options;
      if (is_known) {
        EXPECT_FALSE(sample.weights.contains("w"));
        const std::string stored = absl::StartsWith(c.options, "bits=8") ? "w_int8" : "w_int4";
        ASSERT_TRUE(sample.weights.contains(stored)) << PrintModule(*sample.module);
        EXPECT_EQ(sample.weights[stored].bytes->size(), c.bytes);
        std::string notes;
        for (const PassNote& note : (*results)[0].notes) absl::StrAppend(&notes, note.what, "\n");
        const at::Tensor off =
            (Rounded(weight, c).to(at::kDouble) - weight.to(at::kDouble)).norm() /
            weight.to(at::kDouble).norm();
        EXPECT_THAT(notes,
                    HasSubstr(absl::StrFormat("error of w: %.3f %%", off.item<double>() * 100)));
      }
      Values values = sample.weights;
      values["x"] = inputs["x"];
      const auto found = RunOn(*sample.module, values);
      ASSERT_OK(found) << PrintModule(*sample.module);
      EXPECT_EQ(*found->at("o0").bytes, *expected->at("o0").bytes) << c.options << " " << is_known;
    }
  }
}

TEST(QuantizeWeightsTest, WhatIsReadElsewhereOrSkippedStays) {
  const ParsedModule module = Parse(R"(
graph @forward(%i : i64[2], %x : f32[2, 4], %w : f32[3, 4], %v : f32[3, 4], %u : f32[3, 4]) {
  %e = torch.nn.functional.embedding(%i, %w)
  %a = torch.nn.functional.linear(%x, %w)
  %b = torch.nn.functional.linear(%x, %v)
  %c = torch.nn.functional.linear(%x, %u)
  return (%e, %a, %b, %c)
}
)");
  const auto results =
      RunPipeline(*ParsePipeline("quantize-weights{skip=b}"), module.get(), {.verify_each = true});
  ASSERT_OK(results);
  const std::string text = PrintModule(*module, {.header = false, .locations = false});
  EXPECT_THAT(text, HasSubstr("torch.nn.functional.linear(%x, %w)"));
  EXPECT_THAT(text, HasSubstr("torch.nn.functional.linear(%x, %v)"));
  EXPECT_THAT(text, HasSubstr("torch.nn.functional.linear(%x, %u_dequantized)"));
}

}  // namespace
}  // namespace graphnet
