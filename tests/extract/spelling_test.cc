// Tests that calls that scripting and tracing write differently are captured in one form.
#include <string>
#include <vector>

#include "ATen/ATen.h"
#include "graphnet/extract/capture.h"
#include "gtest/gtest.h"
#include "torch/csrc/jit/ir/constants.h"
#include "torch/csrc/jit/ir/irparser.h"

namespace graphnet {
namespace {

using c10::IValue;

torch::jit::Module Scripted(const std::string& expression) {
  torch::jit::Module module("Program");
  module.define("def forward(self, x):\n    return " + expression + "\n");
  return module;
}

// Makes a module whose `body` defines %y; %c is `constant`, if that is defined.
torch::jit::Module Traced(const std::string& body, const at::Tensor& constant = {}) {
  torch::jit::Module module("Program");
  auto graph = std::make_shared<torch::jit::Graph>();
  torch::jit::parseIR(
      "graph(%self : Tensor, %x : Tensor, %c : Tensor):\n" + body + "  return (%y)\n", graph.get());
  if (constant.defined()) {
    const torch::jit::WithInsertPoint guard(graph->block()->nodes().front());
    graph->inputs()[2]->replaceAllUsesWith(graph->insertConstant(constant));
  }
  graph->eraseInput(2);
  graph->inputs()[0]->setType(module.type());
  module.type()->addMethod(
      module._ivalue()->compilation_unit()->create_function({"Program.forward"}, graph));
  return module;
}

struct Captured {
  std::string hash;
  at::Tensor result;
};
Captured CaptureOf(const torch::jit::Module& module, const at::Tensor& x) {
  const absl::StatusOr<Capture> capture = CaptureProgram(module, {x});
  EXPECT_TRUE(capture.ok() && capture->status.ok()) << capture.status();
  if (!capture.ok() || capture->manifest.subgraphs.size() != 1) return {};
  return {capture->manifest.subgraphs[0].hash, capture->result.toTensor()};
}

void ExpectSame(const std::string& script, const torch::jit::Module& traced, const at::Tensor& x) {
  const Captured a = CaptureOf(Scripted(script), x), b = CaptureOf(traced, x);
  EXPECT_FALSE(a.hash.empty()) << script;
  EXPECT_EQ(a.hash, b.hash) << script;
  EXPECT_TRUE(a.result.equal(b.result) && a.result.scalar_type() == b.result.scalar_type())
      << script;
}

TEST(Spelling, NumbersThatTracingWritesAsTensors) {
  const at::Tensor x = at::randn({2, 3});
  const std::string one = "  %one : int = prim::Constant[value=1]()\n";
  for (const at::Tensor& input : {x, x.to(at::kHalf), x.to(at::kDouble)}) {
    ExpectSame("x * 0.1",
               Traced("  %y : Tensor = aten::mul(%x, %c)\n", at::scalar_tensor(0.1, at::kDouble)),
               input);
    ExpectSame("x / 3",
               Traced("  %y : Tensor = aten::div(%x, %c)\n", at::scalar_tensor(3, at::kLong)),
               input);
    ExpectSame("x + 1e-6",
               Traced(one + "  %y : Tensor = aten::add(%x, %c, %one)\n",
                      at::scalar_tensor(1e-6, at::kDouble)),
               input);
  }
  ExpectSame("torch.div(x, 2, rounding_mode=\"floor\")",
             Scripted("torch.div(x, torch.tensor(2), rounding_mode=\"floor\")"), x);
  ExpectSame("torch.fill_(x.clone(), 3.0)", Scripted("torch.copy_(x.clone(), torch.tensor(3.0))"),
             x);
  // Tracing writes sizes in this way.
  ExpectSame("x * x.size(1)", Scripted("x * torch.tensor(x.size(1))"), x);
  ExpectSame("x * 3",
             Traced("  %y : Tensor = aten::mul(%x, %c)\n", at::scalar_tensor(3, at::kLong)),
             at::arange(6).view({2, 3}));
}

TEST(Spelling, NumbersMayPromote) {
  const at::Tensor half = at::scalar_tensor(0.5, at::kFloat);
  ExpectSame("x * 0.5", Traced("  %y : Tensor = aten::mul(%x, %c)\n", half), at::arange(6));
}

// LibTorch treats a constant of rank 0 as a number, whatever its dtype.
TEST(Spelling, ConstantsOfRankZeroAreNumbersToLibTorch) {
  for (const at::Tensor& constant :
       {at::scalar_tensor(0.5, at::kDouble), at::scalar_tensor(0.5, at::kHalf)}) {
    for (const at::Tensor& x : {at::arange(3), at::scalar_tensor(2.0f), at::randn({3})}) {
      ExpectSame("x * 0.5", Traced("  %y : Tensor = aten::mul(%x, %c)\n", constant), x);
    }
  }
}

TEST(Spelling, TensorsThatPromoteStay) {
  const auto differs = [](const at::Tensor& x, const at::Tensor& constant) {
    const Captured script = CaptureOf(Scripted("x * 0.5"), x);
    const Captured traced = CaptureOf(Traced("  %y : Tensor = aten::mul(%x, %c)\n", constant), x);
    EXPECT_NE(script.hash, traced.hash);
    EXPECT_TRUE(traced.result.equal(x * constant));
    EXPECT_EQ(traced.result.scalar_type(), (x * constant).scalar_type());
  };
  differs(at::randn({3}), at::tensor({0.5}, at::kDouble));
}

TEST(Spelling, OperatorsOfTwoNames) {
  const at::Tensor x = at::randn({2, 6, 4, 4});
  const auto source = [](const std::string& expression) { return Scripted(expression); };
  ExpectSame("x.split([4, 2], 1)[0]", source("torch.split_with_sizes(x, [4, 2], 1)[0]"), x);
  ExpectSame("x[..., 1]", source("torch.select(x, 3, 1)"), x);
  ExpectSame("x[..., 1:]", source("torch.slice(x, 3, 1, 9223372036854775807)"), x);
  ExpectSame("torch.upsample_nearest2d(x, [8, 8], None)",
             source("torch.upsample_nearest2d(x, [8, 8], None, None)"), x);
  ExpectSame("torch.upsample_nearest2d(x, None, [2.0, 1.5])",
             source("torch.upsample_nearest2d(x, [8, 6], 2.0, 1.5)"), x);
  ExpectSame("torch.upsample_bilinear2d(x, None, False, [2.0, 2.0])",
             source("torch.upsample_bilinear2d(x, [8, 8], False, 2.0, 2.0)"), x);
  ExpectSame("torch.norm(x, 2.0, [-1], True)",
             source("torch.linalg_vector_norm(x, 2.0, [-1], True)"), x);
  ExpectSame("x + torch.zeros([4])", source("x + torch.zeros([4], pin_memory=False)"), x);
  // These scales do not give the sizes.
  EXPECT_NE(CaptureOf(Scripted("torch.upsample_nearest2d(x, None, [2.0, 2.0])"), x).hash,
            CaptureOf(Scripted("torch.upsample_nearest2d(x, [9, 9], 2.0, 2.0)"), x).hash);
}

TEST(Spelling, CallsWithoutEffectAreInNoGraph) {
  const at::Tensor x = at::randn({2, 3});
  ExpectSame("torch.relu(x)", Scripted("torch.relu(x.to(6).to(\"cpu\"))"), x);
  torch::jit::Module dead("Program");
  dead.define(
      "def forward(self, x):\n    y = x.exp()\n    for i in range(2):\n        x = torch.relu(x)\n"
      "        y = x.exp()\n    return x\n");
  ExpectSame("torch.relu(torch.relu(x))", dead, x);
  // The next input may have another memory format.
  EXPECT_NE(CaptureOf(Scripted("torch.relu(x.contiguous())"), x).hash,
            CaptureOf(Scripted("torch.relu(x)"), x).hash);
}

}  // namespace
}  // namespace graphnet
