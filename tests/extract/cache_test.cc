// Calls through the cache against calls of the module.
#include "graphnet/extract/cache.h"

#include <string>
#include <vector>

#include "ATen/ATen.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "torch/csrc/jit/ir/irparser.h"
#include "torch/library.h"

namespace graphnet {
namespace {

using c10::IValue;
using Inputs = std::vector<IValue>;

at::Tensor Twice(const at::Tensor& x) { return x * 2; }
TORCH_LIBRARY(graphnet_test, m) { m.def("twice(Tensor x) -> Tensor", Twice); }

torch::jit::Module Define(const std::string& source) {
  torch::jit::Module module("Program");
  module.register_buffer("buffer", at::ones({3}));
  module.register_attribute("scale", c10::FloatType::get(), IValue(1.5));
  module.define(source);
  return module;
}

// Calls both and compares results.
void Check(torch::jit::Module& module, CaptureCache& cache, const Inputs& a, const Inputs& b) {
  const IValue expected = module.forward(a);
  const absl::StatusOr<IValue> found = cache.Call(b);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(expected.toTensor().equal(found->toTensor()))
      << expected.toTensor() << " against " << found->toTensor();
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(a[i].toTensor().equal(b[i].toTensor())) << i;
}
void Check(torch::jit::Module& module, CaptureCache& cache, const Inputs& inputs) {
  Inputs copies;
  for (const IValue& input : inputs) copies.push_back(input.deepcopy());
  Check(module, cache, inputs, copies);
}

TEST(CaptureCache, CapturesUpToItsLimitThenRunsTheModule) {
  const std::string source = "def forward(self, x):\n    return torch.relu(x) * x.size(0)\n";
  torch::jit::Module module = Define(source);
  CaptureCache cache(Define(source));
  for (int64_t size = 1; size <= 22; ++size) Check(module, cache, {at::randn({size})});
  EXPECT_EQ(cache.num_entries(), 20u);
  EXPECT_EQ(cache.counters().captures, 20);
  EXPECT_EQ(cache.counters().misses, 22);
  EXPECT_EQ(cache.counters().fallbacks, 2);
  EXPECT_EQ(cache.counters().hits, 0);
  // The n-th call met n - 1 captures, the last two met 20.
  EXPECT_EQ(cache.counters().guard_failures, 19 * 20 / 2 + 20 + 20);
  ASSERT_EQ(cache.reasons().size(), 20u);
  EXPECT_EQ(cache.reasons()[0], "x: expected sizes [1], found sizes [22]");
  Check(module, cache, {at::randn({7})});
  EXPECT_EQ(cache.counters().hits, 1);
  EXPECT_EQ(cache.counters().captures, 20);
}

TEST(CaptureCache, EachGuardSaysWhatItMinds) {
  CaptureCache cache(Define("def forward(self, x, n: int):\n    return x * n * self.scale\n"));
  const auto reason = [&](const Inputs& inputs) {
    EXPECT_TRUE(cache.Call(inputs).ok());
    return cache.reasons().empty() ? "" : cache.reasons()[0];
  };
  const at::Tensor x = at::ones({2, 3});
  EXPECT_EQ(reason({x, 1}), "");
  EXPECT_EQ(reason({x, 1}), "");
  EXPECT_EQ(cache.counters().hits, 1);
  EXPECT_EQ(reason({x, 2}), "n: expected 1, found 2");
  EXPECT_EQ(reason({x.to(at::kDouble), 1}), "x: expected Float, found Double");
  EXPECT_EQ(reason({at::ones({3}), 1}), "x: expected rank 2, found rank 1");
  EXPECT_EQ(reason({at::ones({2, 3}).requires_grad_(), 1}),
            "x: expected no gradient to be asked for, found requires_grad");
}

TEST(CaptureCache, AnAssignedNumberIsSeen) {
  torch::jit::Module module = Define("def forward(self, x):\n    return x * self.scale\n");
  CaptureCache cache(module);
  Check(module, cache, {at::ones({3})});
  module.setattr("scale", IValue(2.5));
  Check(module, cache, {at::ones({3})});
  EXPECT_EQ(cache.reasons(), std::vector<std::string>({"attribute scale has changed"}));
}

// Operations are replayed in their order on the tensors that are there.
TEST(CaptureCache, ArgumentsThatShareMemoryNeedNoGuard) {
  const std::string source =
      "def forward(self, x, y):\n    x.add_(1)\n    z = y * 2\n    y.mul_(3)\n    return x + z\n";
  torch::jit::Module module = Define(source);
  CaptureCache cache(Define(source));
  Check(module, cache, {at::arange(3.), at::ones({3})});
  const at::Tensor a = at::arange(4.), b = at::arange(4.);
  Check(module, cache, {a.slice(0, 0, 3), a.slice(0, 1, 4)}, {b.slice(0, 0, 3), b.slice(0, 1, 4)});
  Check(module, cache, {a.slice(0, 0, 3), a.slice(0, 0, 3)}, {b.slice(0, 0, 3), b.slice(0, 0, 3)});
  EXPECT_EQ(cache.counters().hits, 2);
  // With the module's own buffer.
  const std::string other = "def forward(self, x):\n    x.add_(1)\n    return x + self.buffer\n";
  torch::jit::Module first = Define(other), second = Define(other);
  CaptureCache cached(second);
  Check(first, cached, {at::ones({3})});
  Check(first, cached, {first.attr("buffer")}, {second.attr("buffer")});
  EXPECT_EQ(cached.counters().hits, 1);
}

TEST(CaptureCache, SizesThatDependOnDataAreNoConstants) {
  const std::string source = "def forward(self, x):\n    y = x[x > 0]\n    return y * y.size(0)\n";
  torch::jit::Module module = Define(source);
  CaptureCache cache(Define(source));
  Check(module, cache, {at::tensor({1., 2., -1.})});
  Check(module, cache, {at::tensor({1., -2., -1.})});
  const std::string rows =
      "def forward(self, x):\n    rows = x[x[:, 0] > 0].unbind(0)\n    return rows[0] * "
      "len(rows)\n";
  torch::jit::Module unbound = Define(rows);
  CaptureCache unbound_cache(Define(rows));
  Check(unbound, unbound_cache, {at::tensor({1., 2., 3.}).view({3, 1})});
  Check(unbound, unbound_cache, {at::tensor({1., -2., 3.}).view({3, 1})});
}

TEST(CaptureCache, HowATensorLiesInMemoryIsNoConstant) {
  const std::string source =
      "def forward(self, x):\n    if x.is_contiguous():\n        return x * 2\n    return x * 3\n";
  torch::jit::Module module = Define(source);
  CaptureCache cache(Define(source));
  Check(module, cache, {at::ones({2, 2})});
  Check(module, cache, {at::ones({2, 2}).t()});
  Check(module, cache, {at::ones({2, 2})});
  EXPECT_EQ(cache.counters().captures, 1 + 1);
}

torch::jit::Module WithCustomOperator() {
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

TEST(CustomOperators, BreakTheGraphWhereTheyAreAllowed) {
  torch::jit::Module module = WithCustomOperator();
  const Inputs inputs = {at::randn({3})};
  const absl::StatusOr<Capture> refused = CaptureProgram(module, inputs);
  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_TRUE(absl::StrContains(refused->status.message(), "graphnet_test::twice is not run"))
      << refused->status;
  EXPECT_EQ(refused->subgraphs.size(), 1u);

  CaptureOptions options;
  options.custom_operators = true;
  const absl::StatusOr<Capture> capture = CaptureProgram(module, inputs, options);
  ASSERT_TRUE(capture.ok() && capture->status.ok()) << capture.status();
  ASSERT_EQ(capture->manifest.steps.size(), 3u);
  EXPECT_EQ(capture->manifest.steps[1].op, "graphnet_test::twice");
  EXPECT_EQ(capture->manifest.steps[1].reason, BreakReason::kCustomOperator);
  CaptureCache cache(module, options);
  Check(module, cache, inputs);
  Check(module, cache, inputs);
  // What it did besides cannot be taken back if the guard of its result fails.
  EXPECT_EQ(cache.num_entries(), 0u);
  EXPECT_EQ(cache.counters().captures, 2);
}

}  // namespace
}  // namespace graphnet
