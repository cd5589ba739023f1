// fold-constants{values=true}: values that are computed ahead have the same bits as in the run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/prepare.h"
#include "graphnet/interp/tensors.h"
#include "graphnet/ir/sample.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/passes/pipeline.h"

namespace graphnet {
namespace {

using testing::HasSubstr;
using testing::Not;

using Values = std::map<std::string, TensorData>;

TensorData Floats(std::vector<int64_t> shape, const std::vector<float>& numbers) {
  std::string bytes(numbers.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return {DType::kFloat32, std::move(shape), std::make_shared<std::string>(std::move(bytes))};
}

absl::StatusOr<Values> RunOn(const Module& module, const Values& values) {
  ASSIGN_OR_RETURN(const PreparedRun prepared, PrepareRun(module, values));
  ASSIGN_OR_RETURN(const auto outputs, prepared.executable->Run(prepared.inputs));
  return NameOutputs(outputs);
}

// Returns a sample with two weights and the given calls in a graph that takes %x : f32[2, 2].
Sample SampleOf(absl::string_view calls) {
  const std::string text = absl::StrCat(
      "attribute a : f32[2, 2]\nattribute b : f32[2, 2]\n"
      "graph @forward(%x : f32[2, 2]@cpu) {\n  %a = get_attr a : f32[2, 2]\n"
      "  %b = get_attr b : f32[2, 2]\n",
      calls, "}\n");
  auto module = ParseModule(text, "test");
  EXPECT_TRUE(module.ok()) << module.status();
  Sample sample;
  sample.name = "test";
  sample.module = *std::move(module);
  sample.weights["a"] = Floats({2, 2}, {0.3f, -1.7f, 2.9f, 0.1f});
  sample.weights["b"] = Floats({2, 2}, {1.1f, 0.7f, -0.2f, 5.3f});
  return sample;
}

// Returns the graph after the pass; it must yield the same values as before.
std::string Folded(absl::string_view calls, absl::string_view options = "values=true",
                   bool compares = true) {
  Sample sample = SampleOf(calls);
  Values inputs = sample.weights;
  inputs["x"] = Floats({2, 2}, {0.5f, 1.5f, -2.5f, 3.5f});
  const auto expected = RunOn(*sample.module, inputs);
  PipelineOptions run;
  run.verify_each = true;
  run.run_constants = RunOn;
  const auto pipeline = ParsePipeline(absl::StrCat("fold-constants{", options, "}"));
  EXPECT_TRUE(pipeline.ok()) << pipeline.status();
  const auto results = RunPipeline(*pipeline, &sample, run);
  if (!results.ok()) return std::string(results.status().message());
  if (compares) {
    Values after = sample.weights;
    after["x"] = inputs["x"];
    const auto found = RunOn(*sample.module, after);
    EXPECT_TRUE(expected.ok() && found.ok()) << expected.status() << found.status();
    if (expected.ok() && found.ok()) {
      EXPECT_EQ(expected->size(), found->size());
      for (const auto& [name, value] : *expected)
        EXPECT_TRUE(*value.bytes == *found->at(name).bytes) << name;
    }
  }
  // Unread attributes are gone, and so are their values.
  EXPECT_EQ(sample.weights.size(), sample.module->attributes().size());
  return PrintModule(*sample.module, {.header = false, .locations = false});
}

TEST(FoldValuesTest, ValuesOfWeightsAloneBecomeWeights) {
  const std::string text = Folded(
      "  %m = torch.mul(%a, %b) : f32[2, 2]\n  %r = torch.relu(%m) : f32[2, 2]\n"
      "  %n = torch.arange(0, 4, dtype = torch.float32) : f32[4]\n"
      "  %v = .view(%n, 2, 2) : f32[2, 2]\n"
      "  %y = torch.add(%x, %r)\n  %z = torch.add(%y, %v)\n  return (%z,)\n");
  EXPECT_THAT(text, HasSubstr("%_folded_0 = get_attr _folded_0 : f32[2, 2]"));
  EXPECT_THAT(text, HasSubstr("torch.add(%x, %_folded_0)"));
  EXPECT_THAT(text, Not(HasSubstr("torch.mul")));
  EXPECT_THAT(text, Not(HasSubstr("attribute a")));
  // A view stays a view.
  EXPECT_THAT(text, HasSubstr(".view(%_folded_1, 2, 2)"));
}

TEST(FoldValuesTest, TuplesBetweenAreComputedToo) {
  const std::string text = Folded(
      "  %s = torch.topk(%a, 1) : (f32[2, 1], i64[2, 1])\n"
      "  %s0 = operator.getitem(%s, 0) : f32[2, 1]\n  %e = torch.exp(%s0) : f32[2, 1]\n"
      "  %y = torch.add(%x, %e)\n  return (%y,)\n");
  EXPECT_THAT(text, HasSubstr("torch.add(%x, %_folded_0)"));
  EXPECT_THAT(text, Not(HasSubstr("topk")));
}

TEST(FoldValuesTest, RandomAndWrittenValuesStay) {
  EXPECT_THAT(Folded("  %r = torch.rand_like(%a) : f32[2, 2]\n  %y = torch.add(%x, %r)\n"
                     "  return (%y,)\n",
                     "values=true", /*compares=*/false),
              HasSubstr("torch.rand_like(%a)"));
  EXPECT_THAT(Folded("  %w = .add_(%a, %x)\n  %e = torch.exp(%a) : f32[2, 2]\n"
                     "  %y = torch.add(%x, %e)\n  return (%y,)\n",
                     "values=true", /*compares=*/false),
              HasSubstr("torch.exp(%a)"));
}

// The meta describes the result of the call in its place, under the mode.
TEST(FoldValuesTest, ValuesThatDependOnAModeStay) {
  const std::string text = Folded(
      "  %on = torch.amp.autocast_mode._enter_autocast(\"cpu\", torch.bfloat16, True, None)\n"
      "  %m = torch.matmul(%a, %b) : bf16[2, 2]\n"
      "  %off = torch.amp.autocast_mode._exit_autocast(%on)\n"
      "  %y = torch.add(%x, %m)\n  return (%y,)\n");
  EXPECT_THAT(text, HasSubstr("torch.matmul(%a, %b)"));
}

TEST(FoldValuesTest, AModuleAloneHasNoValues) {
  const Sample sample = SampleOf("  return (%x,)\n");
  const auto pipeline = ParsePipeline("fold-constants{values=true}");
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  const auto results = RunPipeline(*pipeline, sample.module.get());
  EXPECT_EQ(results.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(results.status().message(),
            "fold-constants: values=true needs a sample with its weights, and LibTorch");
}

// An unused call goes together with its body: a module has no graph without a user.
TEST(FoldValuesTest, DeadBodiesGoToo) {
  Sample sample = SampleOf(
      "  %m = torch.mul(%a, %b) : f32[2, 2]\n  %c = torch.vmap(@body, (%m,))\n"
      "  %y = torch.add(%x, %m)\n  return (%y,)\n}\n"
      "graph @body(%v) {\n  %r = torch.relu(%v)\n  return %r\n");
  PipelineOptions run;
  run.verify_each = true;
  run.run_constants = RunOn;
  const auto results = RunPipeline(*ParsePipeline("fold-constants{values=true}"), &sample, run);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(PrintModule(*sample.module), HasSubstr("torch.add(%x, %_folded_0)"));
  EXPECT_EQ(sample.module->graphs().size(), 1u);
}

TEST(FoldValuesTest, FailingCallsStay) {
  EXPECT_THAT(Folded("  %l = torch.linalg.cholesky(%a) : f32[2, 2]\n  %y = torch.add(%x, %l)\n"
                     "  return (%y,)\n",
                     "values=true", /*compares=*/false),
              HasSubstr("torch.linalg.cholesky(%a)"));
}

TEST(FoldValuesTest, LimitsAndUnknownValues) {
  constexpr absl::string_view kCalls =
      "  %m = torch.mul(%a, %b) : f32[2, 2]\n  %y = torch.add(%x, %m)\n  return (%y,)\n";
  EXPECT_THAT(Folded(kCalls, "values=true,max_bytes=15"), HasSubstr("torch.mul"));
  EXPECT_THAT(Folded(kCalls, "values=true,max_bytes=16"), Not(HasSubstr("torch.mul")));
  EXPECT_THAT(Folded(kCalls, "values=false"), HasSubstr("torch.mul"));
  EXPECT_THAT(Folded(kCalls, "values=true,max_bytes=x"), HasSubstr("max_bytes must be a number"));
  // The size is unknown without a meta.
  EXPECT_THAT(Folded("  %m = torch.mul(%a, %b)\n  %y = torch.add(%x, %m)\n  return (%y,)\n"),
              HasSubstr("torch.mul"));
  Sample sample = SampleOf(kCalls);
  sample.weights.erase("b");
  PipelineOptions run;
  run.run_constants = RunOn;
  const auto results = RunPipeline(*ParsePipeline("fold-constants{values=true}"), &sample, run);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_FALSE((*results)[0].changed);
  EXPECT_EQ(RunPipeline(*ParsePipeline("fold-constants{values=true}"), &sample).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace graphnet
