#include "graphnet/passes/pipeline.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "graphnet/interp/inputs/weights.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/passes/registry.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::HasSubstr;

constexpr char kDead[] = "graph @forward(%x) {\n  %a = torch.exp(%x)\n  return (%x,)\n}\n";

TEST(PipelineTest, TextIsReadAndPrinted) {
  const auto pipeline = ParsePipeline(" dce , lift-attributes{} ,dce");
  ASSERT_OK(pipeline);
  EXPECT_EQ(PrintPipeline(*pipeline), "dce,lift-attributes,dce");
}

TEST(PipelineTest, ErrorsNameTheColumnAndWhatThereIs) {
  EXPECT_THAT(ParsePipeline("dce,dcee"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("passes:1:5: there is no pass \"dcee\"; did you mean dce?")));
  EXPECT_THAT(ParsePipeline("dce{speed=3}"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("passes:1:5: dce has no option \"speed\"")));
  EXPECT_THAT(ParsePipeline(""), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ParsePipeline("dce,"), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ParsePipeline("dce{"), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ParsePipeline("dce}"), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(PipelineTest, SaysWhatEachStepDid) {
  const auto module = ParseModule(kDead, "test");
  ASSERT_OK(module);
  const auto pipeline = ParsePipeline("dce,dce");
  ASSERT_OK(pipeline);
  std::string diff;
  PipelineOptions options;
  options.verify_each = true;
  options.on_change = [&](const PipelineStep& step, absl::string_view before,
                          absl::string_view after) {
    diff += std::string(step.pass->name()) + "\n" + DiffLines(before, after);
  };
  const auto results = RunPipeline(*pipeline, module->get(), options);
  ASSERT_OK(results);
  ASSERT_EQ(results->size(), 2u);
  EXPECT_TRUE((*results)[0].changed);
  EXPECT_EQ((*results)[0].nodes_before, 3u);
  EXPECT_EQ((*results)[0].nodes_after, 2u);
  EXPECT_FALSE((*results)[1].changed);
  EXPECT_EQ(diff, "dce\n-   %a = torch.exp(%x)\n");
}

// Lowering turns both strides into lists.
TEST(PipelineTest, AtenToTorchKeepsOneNumberForSeveral) {
  const auto module = ParseModule(
      "graph @forward(%x, %w) {\n  %y = aten.conv2d.default(%x, %w, None, 2)\n  return (%y,)\n}\n",
      "test");
  ASSERT_OK(module);
  const auto pipeline = ParsePipeline("aten-to-torch");
  ASSERT_OK(pipeline);
  const auto results = RunPipeline(*pipeline, module->get());
  ASSERT_OK(results);
  EXPECT_TRUE((*results)[0].changed);
  const Node* call = (*module)->main()->last()->prev();
  EXPECT_EQ(call->target(), "torch.conv2d");
  EXPECT_EQ(call->args()[3], Argument(2));
}

TEST(PipelineTest, LimitLeavesOutTheRest) {
  const auto module = ParseModule(kDead, "test");
  ASSERT_OK(module);
  const auto pipeline = ParsePipeline("dce");
  ASSERT_OK(pipeline);
  PipelineOptions options;
  options.limit = 0;
  const auto results = RunPipeline(*pipeline, module->get(), options);
  ASSERT_OK(results);
  EXPECT_TRUE(results->empty());
  EXPECT_EQ((*module)->num_nodes(), 3u);
}

TEST(PipelineTest, VerifyEachFindsLiesAndBrokenModules) {
  const Pass liar("liar", "", [](Module* module, PassRun&) -> absl::StatusOr<bool> {
    module->main()->first()->set_name("renamed");
    return false;
  });
  const Pass boaster("boaster", "", [](Module*, PassRun&) -> absl::StatusOr<bool> { return true; });
  const Pass vandal("vandal", "", [](Module* module, PassRun&) -> absl::StatusOr<bool> {
    module->main()->EraseNode(module->main()->output());
    return true;
  });
  PipelineOptions options;
  options.verify_each = true;
  const auto run = [&](const Pass& pass) {
    const auto module = ParseModule(kDead, "test");
    return RunPipeline({{&pass, {}}}, module->get(), options).status();
  };
  EXPECT_THAT(run(liar), StatusIs(absl::StatusCode::kInternal, HasSubstr("but reports no change")));
  EXPECT_THAT(run(boaster),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("reports a change but made none")));
  EXPECT_THAT(run(vandal), StatusIs(absl::StatusCode::kInternal, HasSubstr("broke the module")));
}

TensorData Floats(const std::vector<float>& values) {
  return {DType::kFloat32,
          {static_cast<int64_t>(values.size())},
          std::make_shared<const std::string>(reinterpret_cast<const char*>(values.data()),
                                              values.size() * sizeof(float))};
}

// The inputs were renamed before, and their original names belong to other inputs now.
TEST(PipelineTest, WeightsFollowEachStep) {
  auto sample = ParseSample(
      "attribute a.w : f32[1]@cpu\nattribute unread : f32[1]@cpu\n"
      "graph @forward(\n"
      "  %in_1 : f32[1]@cpu {original_name = in_0},\n"
      "  %in_0 : f32[1]@cpu {original_name = in_1}\n) {\n"
      "  %w = get_attr a.w\n  %s = torch.add(%in_1, %w)\n  %t = torch.sub(%s, %in_0)\n"
      "  return (%t,)\n}\n",
      "test");
  ASSERT_OK(sample);
  sample->weights["in_0"] = Floats({0});
  sample->weights["in_1"] = Floats({1});
  sample->weights["a.w"] = Floats({2});
  sample->weights["unread"] = Floats({3});
  const auto run = [&](const std::string& text) {
    const auto pipeline = ParsePipeline(text);
    EXPECT_OK(pipeline);
    EXPECT_OK(RunPipeline(*pipeline, &*sample));
    EXPECT_OK(CheckWeights(*sample));
  };
  const auto value = [&](const std::string& name) {
    float f = -1;
    if (sample->weights.contains(name)) std::memcpy(&f, sample->weights[name].bytes->data(), 4);
    return f;
  };
  run("rename");
  EXPECT_EQ(value("in_0"), 1);
  EXPECT_EQ(value("in_1"), 0);
  run("dce");
  EXPECT_EQ(value("in_0"), 1);
  run("lift-attributes");
  EXPECT_EQ(value("a.w"), 2);
  EXPECT_FALSE(sample->weights.contains("unread"));
  run("change-dtype{to=bf16}");
  EXPECT_EQ(sample->weights["a.w"].dtype, DType::kBFloat16);
  run("change-dtype{to=f32},rename");
  EXPECT_EQ(value("in_2"), 2);
}

TEST(PipelineTest, WeightsAreRoundedByEachStep) {
  auto sample = ParseSample(
      "attribute w : f32[1]@cpu\ngraph @forward() {\n  %w = get_attr w\n  return (%w,)\n}\n",
      "test");
  ASSERT_OK(sample);
  sample->weights["w"] = Floats({1.01f});
  const auto pipeline = ParsePipeline("change-dtype{to=bf16},change-dtype{to=f32}");
  ASSERT_OK(RunPipeline(*pipeline, &*sample));
  float f = 0;
  std::memcpy(&f, sample->weights["w"].bytes->data(), 4);
  EXPECT_EQ(f, 1.0078125f);
}

TEST(PipelineTest, DiffKeepsTheOrder) {
  EXPECT_EQ(DiffLines("a\nb\nc\nd", "a\nB\nc\ne\nd"), "- b\n+ B\n+ e\n");
  EXPECT_EQ(DiffLines("a\nb", "a\nb"), "");
  EXPECT_EQ(DiffLines("a\na", "a"), "- a\n");
}

TEST(PassRunTest, OptionsAreRead) {
  const PassRun run({{"allow", "a+b"}, {"on", "true"}, {"bad", "yes"}});
  EXPECT_EQ(run.option("allow"), "a+b");
  EXPECT_EQ(run.option("none", "other"), "other");
  EXPECT_EQ(run.list("allow"), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(run.list("none").empty());
  EXPECT_THAT(run.flag("on"), IsOkAndHolds(true));
  EXPECT_THAT(run.flag("none"), IsOkAndHolds(false));
  EXPECT_THAT(run.flag("bad"), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(RegistryTest, NamesAreSortedAndUnique) {
  for (size_t i = 1; i < AllPasses().size(); ++i) {
    EXPECT_LT(AllPasses()[i - 1].name(), AllPasses()[i].name());
  }
  EXPECT_NE(FindPass("dce"), nullptr);
  EXPECT_EQ(FindPass("nothing"), nullptr);
}

}  // namespace
}  // namespace graphnet
