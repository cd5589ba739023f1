// Compares captures with LibTorch's own runs of the program.
#include "graphnet/extract/reference.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "ATen/ATen.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "graphnet/extract/capture.h"
#include "graphnet/extract/samples.h"
#include "gtest/gtest.h"
#include "tests/extract/store_and_load.h"

namespace graphnet {
namespace {

namespace jit = torch::jit;
using c10::IValue;
using Values = std::vector<IValue>;

// Makes a module like a traced one: `source` defines f(self, x, c), and c is a constant of forward.
jit::Module WithConstant(const std::string& source, const at::Tensor& c) {
  jit::Module module("Program");
  module.define(source);
  const std::shared_ptr<jit::Graph> graph = module.get_method("f").graph()->copy();
  {
    const jit::WithInsertPoint guard(graph->block()->nodes().front());
    graph->inputs()[2]->replaceAllUsesWith(graph->insertConstant(c));
  }
  graph->eraseInput(2);
  module.type()->addMethod(module._ivalue()->compilation_unit()->create_function(
      c10::QualifiedName(*module.type()->name(), "forward"), graph));
  return module;
}

// Returns the results of the capture, and of the capture from a folder.
std::vector<IValue> Captured(const jit::Module& module, const Values& inputs) {
  const absl::StatusOr<Capture> capture = CaptureProgram(module, inputs);
  EXPECT_TRUE(capture.ok() && capture->status.ok())
      << (capture.ok() ? capture->status : capture.status());
  if (!capture.ok()) return {};
  const absl::StatusOr<ExtractedProgram> samples = ToSamples(*capture, "program");
  EXPECT_TRUE(samples.ok()) << samples.status();
  const absl::StatusOr<LoadedProgram> loaded = StoreAndLoad(*samples, ExtractFormat::kProtobuf);
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  const absl::StatusOr<IValue> result = loaded->program->Run(inputs, {});
  EXPECT_TRUE(result.ok()) << result.status();
  return {capture->result, *result};
}

void ExpectAsLibTorch(const jit::Module& module, const Values& inputs, c10::ScalarType dtype) {
  const absl::StatusOr<IValue> expected = RunByLibTorch(module, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_EQ(expected->toTensor().scalar_type(), dtype);
  for (const IValue& found : Captured(module, inputs))
    EXPECT_EQ(DifferenceOf(*expected, found), "");
}

constexpr char kTimes[] = "def f(self, x, c):\n    return x.sum() * c\n";

TEST(Reference, NumbersOfTracesAreNumbers) {
  const at::Tensor x = at::rand({3});
  const at::Tensor number = at::scalar_tensor(0.1, at::kDouble);
  ExpectAsLibTorch(WithConstant(kTimes, number), {x}, at::kFloat);
  ExpectAsLibTorch(WithConstant("def f(self, x, c):\n    return c * x.sum()\n", number), {x},
                   at::kDouble);
  ExpectAsLibTorch(WithConstant("def f(self, x, c):\n    return x.sum().mul_(c)\n", number), {x},
                   at::kFloat);
  ExpectAsLibTorch(WithConstant(kTimes, at::scalar_tensor(3, at::kLong)), {x > 0}, at::kLong);
  ExpectAsLibTorch(
      WithConstant(kTimes, at::scalar_tensor(c10::complex<double>(1, 2), at::kComplexDouble)), {x},
      at::kComplexFloat);
  ExpectAsLibTorch(WithConstant(kTimes, at::full({1}, 0.1, at::kDouble)), {x}, at::kDouble);
}

// LibTorch inlines the calls, so it sees the number in them.
TEST(Reference, NumbersArePassedToCallees) {
  const at::Tensor x = at::rand({3});
  const at::Tensor number = at::scalar_tensor(0.1, at::kDouble);
  const std::string inner =
      "def g(self, x, c):\n    return x.sum() * c\n"
      "def h(self, x, c):\n    return self.g(x, c) + x.sum()\n";
  ExpectAsLibTorch(WithConstant(inner + "def f(self, x, c):\n    return self.h(x, c)\n", number),
                   {x}, at::kFloat);
  // A value that is computed, or chosen in the run, is a tensor; so is a number in another call.
  ExpectAsLibTorch(
      WithConstant(inner + "def f(self, x, c):\n    return self.g(x, c) + self.h(x, -c)\n", number),
      {x}, at::kDouble);
  ExpectAsLibTorch(
      WithConstant("def f(self, x, c):\n    y = x.sum()\n    if x.size(0) > 2:\n        y = c\n"
                   "    return x.sum() * y\n",
                   number),
      {x}, at::kDouble);
}

// LibTorch decomposes composite operators before it resolves conjugate views, as under no_grad.
TEST(Reference, ConjugateViewsRoundAsUnderNoGrad) {
  jit::Module module("Program");
  module.define("def forward(self, x, y):\n    return torch.matmul(x.mH, y.t())\n");
  at::manual_seed(0);
  const auto draw = [] { return at::randn({8, 8}, at::kComplexDouble); };
  ExpectAsLibTorch(module, {draw(), draw()}, at::kComplexDouble);
}

// Conjugate views in lists are operands of calls, too, and not constants.
TEST(Reference, ConjugateViewsInListsAreOperands) {
  jit::Module module("Program");
  module.define("def forward(self, x):\n    return torch.cat([x.mH, x]) + 1\n");
  const absl::StatusOr<Capture> capture =
      CaptureProgram(module, {at::randn({3, 3}, at::kComplexFloat)});
  ASSERT_TRUE(capture.ok() && capture->status.ok()) << capture.status();
  ASSERT_EQ(capture->subgraphs.size(), 1u);
  EXPECT_TRUE(capture->subgraphs[0].attributes.empty());
}

TEST(Reference, DifferencesAreFound) {
  const at::Tensor x = at::ones({2});
  EXPECT_EQ(DifferenceOf(x, at::ones({2})), "");
  EXPECT_EQ(DifferenceOf(x, at::ones({2}, at::kDouble)), "result 0: Double[2] instead of Float[2]");
  EXPECT_EQ(DifferenceOf(x, at::ones({1, 2})), "result 0: Float[1, 2] instead of Float[2]");
  EXPECT_EQ(DifferenceOf(x, -at::ones({2})), "result 0, Float[2]: other bits");
  EXPECT_EQ(DifferenceOf(at::zeros({1}), -at::zeros({1})), "result 0, Float[1]: other bits");
  EXPECT_EQ(DifferenceOf(x, x.to_sparse()), "result 0: Float[2] Sparse instead of Float[2]");
  EXPECT_EQ(DifferenceOf(x.to_sparse(), (2 * x).to_sparse()),
            "result 0, Float[2] Sparse: other bits");
  EXPECT_EQ(DifferenceOf(at::complex(x, x).conj(), at::complex(x, -x)), "");
  EXPECT_EQ(DifferenceOf(at::Tensor(), x), "result 0: Float[2] instead of None");
  EXPECT_EQ(DifferenceOf(at::Tensor(), c10::IValue()), "");
  EXPECT_EQ(DifferenceOf(c10::IValue(), at::Tensor()), "");
  EXPECT_EQ(DifferenceOf(IValue(1), IValue(1.0)), "result 0: Double instead of Int");
  EXPECT_EQ(DifferenceOf(IValue(std::nan("")), IValue(std::nan(""))), "");
  EXPECT_EQ(DifferenceOf(c10::List<at::Tensor>({x, x}), x), "1 results instead of 2");
}

// A capture with a wrong dtype does not pass.
TEST(Reference, FindsAWrongDtype) {
  const at::Tensor x = at::rand({3});
  const jit::Module module = WithConstant(kTimes, at::scalar_tensor(0.1, at::kDouble));
  jit::Module other("Program");
  other.register_buffer("c", at::scalar_tensor(0.1, at::kDouble));
  other.define("def forward(self, x):\n    return x.sum() * self.c\n");
  const absl::StatusOr<IValue> expected = RunByLibTorch(module, {x});
  ASSERT_TRUE(expected.ok()) << expected.status();
  for (const IValue& found : Captured(other, {x}))
    EXPECT_EQ(DifferenceOf(*expected, found), "result 0: Double[] instead of Float[]");
}

// No path of the program may have a forbidden operator.
TEST(Reference, RefusesTheSameOperatorsAsCaptures) {
  jit::Module module("Program");
  module.define(
      "def forward(self, x):\n    if x.size(0) > 5:\n"
      "        return torch.from_file('/nowhere', None, 1)\n    return x\n");
  const absl::StatusOr<IValue> result = RunByLibTorch(module, {at::ones({3})});
  ASSERT_FALSE(result.ok());
  EXPECT_TRUE(absl::StrContains(result.status().message(), "aten::from_file")) << result.status();
}

}  // namespace
}  // namespace graphnet
