// fold-batch-norm: results are those of PyTorch's batch norm within rounding, whatever is folded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "ATen/ATen.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/executable.h"
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
using ::testing::Not;

// Returns the only result of a module.
at::Tensor RunWith(const Module& module, const std::vector<at::Tensor>& inputs) {
  auto executable = Compile(module);
  EXPECT_OK(executable) << PrintModule(module);
  if (!executable.ok()) return {};
  auto outputs = (*executable)->Run({inputs.begin(), inputs.end()});
  EXPECT_OK(outputs) << PrintModule(module);
  return outputs.ok() ? (*outputs)[0].toTensor() : at::Tensor();
}

// Returns the text after the pass.
std::string Folded(Module* module, std::vector<PassNote>* notes = nullptr) {
  const auto pipeline = ParsePipeline("fold-batch-norm");
  const auto results = RunPipeline(*pipeline, module, {.verify_each = true});
  EXPECT_OK(results);
  if (results.ok() && notes != nullptr) *notes = (*results)[0].notes;
  return PrintModule(*module, {.header = false, .locations = false});
}

struct Layer {
  std::string call;  // of %x, %w and %a, the bias
  std::vector<int64_t> input, weight;
  int64_t channels;
  at::Tensor (*run)(const at::Tensor& x, const at::Tensor& w, const at::Tensor& a);
};

TEST(FoldBatchNormTest, ResultsOfAllLayersStay) {
  using T = const at::Tensor&;
  const Layer layers[] = {
      {"torch.conv1d(%x, %w, %a)",
       {2, 4, 9},
       {6, 4, 3},
       6,
       [](T x, T w, T a) { return at::conv1d(x, w, a); }},
      {"aten.conv2d.default(%x, %w, %a, [2, 2], [1, 1], [1, 1], 2)",
       {2, 4, 9, 7},
       {6, 2, 3, 3},
       6,
       [](T x, T w, T a) {
         return at::conv2d(x, w, a, {2, 2}, {1, 1}, {1, 1}, 2);
       }},
      {"torch.conv3d(%x, %w, %a)",
       {1, 2, 5, 5, 5},
       {3, 2, 2, 2, 2},
       3,
       [](T x, T w, T a) { return at::conv3d(x, w, a); }},
      {"torch.conv_transpose1d(%x, %w, %a)",
       {2, 4, 9},
       {4, 6, 3},
       6,
       [](T x, T w, T a) { return at::conv_transpose1d(x, w, a); }},
      {"torch.nn.functional.conv_transpose2d(%x, %w, %a, 2, 0, 0, 2)",
       {2, 4, 5, 5},
       {4, 3, 2, 2},
       6,
       [](T x, T w, T a) {
         return at::conv_transpose2d(x, w, a, {2, 2}, {0, 0}, {0, 0}, 2);
       }},
      {"aten.convolution.default(%x, %w, %a, [1, 1], [0, 0], [1, 1], True, [0, 0], 2)",
       {2, 4, 5, 5},
       {4, 3, 2, 2},
       6,
       [](T x, T w, T a) {
         return at::conv_transpose2d(x, w, a, {1, 1}, {0, 0}, {0, 0}, 2);
       }},
      {"torch.nn.functional.linear(%x, %w, %a)",
       {5, 4},
       {6, 4},
       6,
       [](T x, T w, T a) { return at::linear(x, w, a); }},
      {"torch._C._nn.linear(input = %x, weight = %w, bias = %a)",
       {5, 4},
       {6, 4},
       6,
       [](T x, T w, T a) { return at::linear(x, w, a); }},
  };
  const char* const norms[] = {
      "  %n = torch.nn.functional.batch_norm(%l, %m, %v, %g, %b, False, 0.1, 0.001)\n",
      "  %n = aten.batch_norm.default(%l, %g, %b, %m, %v, False, 0.1, 0.001, True)\n",
      "  %t = aten._native_batch_norm_legit_no_training.default(%l, %g, %b, %m, %v, 0.1, 0.001)\n"
      "  %n = operator.getitem(%t, 0)\n",
  };
  at::manual_seed(1);
  for (const Layer& layer : layers) {
    for (const char* norm : norms) {
      const auto shape = [](const std::vector<int64_t>& sizes) {
        return absl::StrJoin(sizes, ", ");
      };
      const std::string text = absl::StrCat(
          "graph @forward(%x : f32[", shape(layer.input), "], %w : f32[", shape(layer.weight),
          "], %a : f32[", layer.channels, "], %m, %v, %g, %b) {\n  %l = ", layer.call, "\n", norm,
          "  %r = torch.tanh(%n)\n  return (%r,)\n}\n");
      const ParsedModule module = Parse(text);
      const std::string after = Folded(module.get());
      EXPECT_THAT(after, Not(HasSubstr("batch_norm"))) << text;
      const at::Tensor x = at::randn(layer.input), w = at::randn(layer.weight);
      const at::Tensor a = at::randn({layer.channels}), m = at::randn({layer.channels});
      const at::Tensor v = at::rand({layer.channels}) + 0.1, g = at::randn({layer.channels});
      const at::Tensor b = at::randn({layer.channels});
      const at::Tensor exact = at::tanh(at::batch_norm(
          layer.run(x.to(at::kDouble), w.to(at::kDouble), a.to(at::kDouble)), g.to(at::kDouble),
          b.to(at::kDouble), m.to(at::kDouble), v.to(at::kDouble), false, 0.1, 0.001, false));
      const at::Tensor found = RunWith(*module, {x, w, a, m, v, g, b});
      ASSERT_TRUE(found.defined()) << after;
      EXPECT_EQ(found.scalar_type(), at::kFloat);
      EXPECT_LT((found.to(at::kDouble) - exact).abs().max().item<double>(), 5e-6) << text;
    }
  }
}

TEST(FoldBatchNormTest, KnownValuesBecomeWeightsOfTheSameResults) {
  constexpr char kText[] = R"(
attribute conv.weight : f32[4, 3, 1, 1]@cpu
attribute m : f32[4]@cpu
attribute v : f32[4]@cpu
graph @forward(%x : f32[2, 3, 5, 5]@cpu) {
  %w = get_attr conv.weight : f32[4, 3, 1, 1]@cpu
  %c = torch.conv2d(%x, %w)
  %d = .dim(%c)
  %m = get_attr m : f32[4]@cpu
  %v = get_attr v : f32[4]@cpu
  %n = torch.nn.functional.batch_norm(%c, %m, %v, None, None, False, 0.1, 1e-05)
  return (%n, %d)
}
)";
  const auto run = [](const Module& module, const std::map<std::string, TensorData>& values)
      -> absl::StatusOr<std::map<std::string, TensorData>> {
    ASSIGN_OR_RETURN(const PreparedRun prepared, PrepareRun(module, values));
    ASSIGN_OR_RETURN(const auto outputs, prepared.executable->Run(prepared.inputs));
    return NameOutputs(outputs);
  };
  at::manual_seed(2);
  std::map<std::string, TensorData> weights;
  weights["conv.weight"] = *ToTensorData(at::randn({4, 3, 1, 1}));
  weights["m"] = *ToTensorData(at::randn({4}));
  weights["v"] = *ToTensorData(at::rand({4}) + 0.1);
  const TensorData x = *ToTensorData(at::randn({2, 3, 5, 5}));
  std::string bits[2];
  for (const bool is_known : {false, true}) {
    Sample sample;
    sample.name = "test";
    sample.module.reset(Parse(kText).release());
    sample.weights = weights;
    PipelineOptions options = {.verify_each = true};
    if (is_known) options.run_constants = run;
    ASSERT_OK(RunPipeline(*ParsePipeline("fold-batch-norm"), &sample, options));
    EXPECT_EQ(sample.weights.contains("conv.weight_folded"), is_known);
    EXPECT_EQ(sample.weights.contains("conv.bias_folded"), is_known);
    EXPECT_EQ(sample.weights.size(), is_known ? 2 : 3);
    std::map<std::string, TensorData> values = sample.weights;
    values["x"] = x;
    const auto outputs = run(*sample.module, values);
    ASSERT_OK(outputs);
    bits[is_known ? 1 : 0] = std::string(*outputs->at("o0").bytes);
  }
  EXPECT_EQ(bits[0], bits[1]);
}

// Returns the only note of a program that must not change.
std::string WhyItStays(absl::string_view calls) {
  const std::string text = absl::StrCat(
      "graph @forward(%x : f32[2, 3, 5, 5], %w : f32[4, 3, 1, 1], %m : f32[4], %v : f32[4]) {\n",
      calls, "}\n");
  const ParsedModule module = Parse(text);
  const std::string before = PrintModule(*module, {.header = false, .locations = false});
  std::vector<PassNote> notes;
  EXPECT_EQ(Folded(module.get(), &notes), before);
  return notes.size() == 1 ? notes[0].what : absl::StrCat(notes.size(), " notes");
}

TEST(FoldBatchNormTest, WhatMustNotBeFoldedStays) {
  constexpr absl::string_view kConv = "  %c = torch.conv2d(%x, %w)\n";
  constexpr absl::string_view kNorm =
      "  %n = torch.nn.functional.batch_norm(%c, %m, %v, None, None, False, 0.1, 1e-05)\n";
  EXPECT_THAT(WhyItStays(absl::StrCat(kConv, kNorm, "  return (%n, %c)\n")),
              HasSubstr("their input has other uses"));
  EXPECT_THAT(
      WhyItStays(absl::StrCat(kConv, "  %e = torch.relu(%c)\n", kNorm, "  return (%n, %e)\n")),
      HasSubstr("their input has other uses"));
  EXPECT_THAT(WhyItStays(absl::StrCat(kConv, kNorm, "  %e = .add_(%m, 1)\n  return (%n, %e)\n")),
              HasSubstr("computed or written"));
  EXPECT_THAT(WhyItStays(absl::StrCat("  %c = torch.relu(%x)\n", kNorm, "  return (%n,)\n")),
              HasSubstr("no convolution"));
  EXPECT_THAT(WhyItStays(absl::StrCat(
                  kConv, "  %n = torch.nn.functional.batch_norm(%c, %m, %v, None, None, True)\n",
                  "  return (%n,)\n")),
              HasSubstr("they train"));
}

}  // namespace
}  // namespace graphnet
