// Tests operators and classes that are not TorchScript's own.
#include "tests/extract/custom.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "ATen/ATen.h"
#include "absl/strings/match.h"
#include "graphnet/extract/cache.h"
#include "graphnet/extract/folder.h"
#include "graphnet/extract/samples.h"
#include "gtest/gtest.h"
#include "torch/csrc/jit/ir/irparser.h"

namespace graphnet {
namespace {

using c10::IValue;
using Inputs = std::vector<IValue>;

// Calls both, each with its own counter.
void Check(torch::jit::Module& module, CaptureCache& cache, const Inputs& inputs) {
  const IValue expected = module.forward(inputs);
  const absl::StatusOr<IValue> found = cache.Call(inputs);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(expected.toTensor().equal(found->toTensor()))
      << expected.toTensor() << " against " << found->toTensor();
}

torch::jit::Module WithOperator() {
  torch::jit::Module module("Program");
  auto graph = std::make_shared<torch::jit::Graph>();
  torch::jit::parseIR(R"(graph(%self : Tensor, %x : Tensor):
  %y : Tensor = aten::relu(%x)
  %z : Tensor = graphnet_test::twice(%y)
  %w : Tensor = aten::neg(%z)
  return (%w))",
                      graph.get());
  graph->inputs()[0]->setType(module.type());
  module.type()->addMethod(
      module._ivalue()->compilation_unit()->create_function({"Program.forward"}, graph));
  return module;
}

torch::jit::Module WithCounter(bool storable = true) {
  torch::jit::Module module("Program");
  const IValue counter = MakeCounter(5, storable);
  module.register_attribute("counter", counter.type(), counter);
  module.define(
      "def forward(self, x):\n    y = torch.relu(x)\n    return y * self.counter.next()\n");
  return module;
}

CaptureOptions Allowed() {
  CaptureOptions options;
  options.custom_operators = true;
  return options;
}

TEST(CustomOperators, BreakTheGraphWhereTheyAreAllowed) {
  torch::jit::Module module = WithOperator();
  const Inputs inputs = {at::randn({3})};
  const absl::StatusOr<Capture> refused = CaptureProgram(module, inputs);
  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_TRUE(absl::StrContains(refused->status.message(), "graphnet_test::twice is not run"))
      << refused->status;
  EXPECT_EQ(refused->subgraphs.size(), 1u);

  const absl::StatusOr<Capture> capture = CaptureProgram(module, inputs, Allowed());
  ASSERT_TRUE(capture.ok() && capture->status.ok()) << capture.status();
  ASSERT_EQ(capture->manifest.steps.size(), 3u);
  EXPECT_EQ(capture->manifest.steps[1].op, "graphnet_test::twice");
  EXPECT_EQ(capture->manifest.steps[1].reason, BreakReason::kCustomOperator);
  CaptureCache cache(module, Allowed());
  Check(module, cache, inputs);
  Check(module, cache, inputs);
  // The operator's effects cannot be undone if the guard of its result fails.
  EXPECT_EQ(cache.num_entries(), 0u);
  EXPECT_EQ(cache.counters().captures, 2);
}

TEST(CustomClasses, BreakTheGraphWhereTheyAreAllowed) {
  const Inputs inputs = {at::randn({3})};
  const absl::StatusOr<Capture> refused = CaptureProgram(WithCounter(), inputs);
  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_TRUE(absl::StrContains(refused->status.message(), "Counter.next is not run"))
      << refused->status;

  const absl::StatusOr<Capture> capture = CaptureProgram(WithCounter(), inputs, Allowed());
  ASSERT_TRUE(capture.ok() && capture->status.ok()) << capture.status();
  ASSERT_EQ(capture->manifest.steps.size(), 3u);
  EXPECT_EQ(capture->manifest.steps[1].reason, BreakReason::kCustomClass);
  ASSERT_EQ(capture->manifest.objects.size(), 1u);
  EXPECT_EQ(capture->manifest.objects.begin()->second, "counter");
  torch::jit::Module module = WithCounter();
  CaptureCache cache(WithCounter(), Allowed());
  for (int i = 0; i < 3; ++i) Check(module, cache, inputs);
}

TEST(CustomClasses, AreLoadedOnlyWithTrust) {
  const Inputs inputs = {at::randn({3})};
  const absl::StatusOr<Capture> capture = CaptureProgram(WithCounter(), inputs, Allowed());
  ASSERT_TRUE(capture.ok()) << capture.status();
  const char* scratch = std::getenv("TEST_TMPDIR");
  const std::string folder = std::string(scratch != nullptr ? scratch : "/tmp") + "/custom";
  absl::StatusOr<ExtractedProgram> samples = ToSamples(*capture, "custom");
  ASSERT_TRUE(samples.ok()) << samples.status();
  ASSERT_TRUE(WriteExtracted(*samples, folder, ExtractFormat::kProtobuf).ok());
  absl::StatusOr<ExtractedProgram> stored = ReadExtracted(folder);
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(LoadProgram(*std::move(stored)).status().code(), absl::StatusCode::kPermissionDenied);

  stored = ReadExtracted(folder);
  ASSERT_TRUE(stored.ok()) << stored.status();
  absl::StatusOr<LoadedProgram> loaded = LoadProgram(*std::move(stored), /*trust=*/true);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->program->Run(inputs, {}).status().code(), absl::StatusCode::kInvalidArgument);
  StitchedProgram::RunOptions run;
  run.custom_operators = true;
  const absl::StatusOr<IValue> result = loaded->program->Run(inputs, run);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->toTensor().equal(capture->result.toTensor()));
  // The counter continues, but the captured count is a constant.
  EXPECT_EQ(loaded->program->Run(inputs, run).status().code(),
            absl::StatusCode::kFailedPrecondition);
  // The next extraction removes the objects of this one.
  samples->objects.clear();
  ASSERT_TRUE(WriteExtracted(*samples, folder, ExtractFormat::kProtobuf).ok());
  stored = ReadExtracted(folder);
  ASSERT_TRUE(stored.ok()) << stored.status();
  const absl::Status lacks = LoadProgram(*std::move(stored), /*trust=*/true).status();
  EXPECT_EQ(lacks.code(), absl::StatusCode::kFailedPrecondition) << lacks;
  std::filesystem::remove_all(folder);
}

TEST(CustomClasses, AreOnlyReplayedIfTheyCannotBeStored) {
  const Inputs inputs = {at::randn({3})};
  const absl::StatusOr<Capture> capture =
      CaptureProgram(WithCounter(/*storable=*/false), inputs, Allowed());
  ASSERT_TRUE(capture.ok() && capture->status.ok()) << capture.status();
  const absl::StatusOr<ExtractedProgram> samples = ToSamples(*capture, "custom");
  ASSERT_TRUE(samples.ok()) << samples.status();
  EXPECT_TRUE(samples->objects.empty());
  torch::jit::Module module = WithCounter(false);
  CaptureCache cache(WithCounter(false), Allowed());
  for (int i = 0; i < 3; ++i) Check(module, cache, inputs);
}

}  // namespace
}  // namespace graphnet
