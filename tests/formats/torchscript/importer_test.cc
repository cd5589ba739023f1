// TorchScript source in, text form out. Modules are compiled in the process, so
// no Python is needed.
#include "graphnet/formats/torchscript/importer.h"

#include <sstream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graphnet/formats/torchscript/import_graph.h"
#include "graphnet/ir/sample.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/text/printer.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "torch/csrc/jit/ir/irparser.h"
#include "torch/script.h"

namespace graphnet {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The module text without locations; attributes are left to their own test.
std::string Text(const absl::StatusOr<Sample>& sample) {
  EXPECT_OK(sample);
  if (!sample.ok()) return "";
  EXPECT_OK(Verify(*sample->module));
  std::ostringstream out;
  std::istringstream lines(PrintModule(*sample->module, {.header = false, .locations = false}));
  bool blank = true;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("attribute ", 0) == 0 || (line.empty() && blank)) continue;
    blank = line.empty();
    out << line << "\n";
  }
  return out.str();
}

absl::StatusOr<Sample> Import(const torch::jit::Module& module) {
  return ImportTorchScriptMethod(module, "forward");
}

absl::StatusOr<Sample> Import(const std::string& source) {
  torch::jit::Module module("M");
  module.define(source);
  return Import(module);
}

TEST(ImporterTest, Operators) {
  // Defaults are left out as in torch.fx; ints of the schema's ScalarType,
  // Layout and MemoryFormat are what they mean.
  EXPECT_EQ(Text(Import(R"(
def forward(self, x, n: int):
    y = torch.add(x, x, alpha=1)
    y = torch.add(y, 2.5, alpha=n)
    z = torch.zeros([n, 3], dtype=6, layout=0, device=torch.device("cuda:1"))
    w = torch.contiguous(z, memory_format=2)
    return torch.conv2d(y, w, None, [2, 2])
)")),
            R"(
)");
}

TEST(ImporterTest, Constants) {
  EXPECT_EQ(Text(Import(R"(
def forward(self, x):
    return (None, True, -3, 1.5, 2j, "a\n", [1, 2], [1.0], [x, x], (x, (1,)), {"k": x, "l": x})
)")),
            R"(
)");
}

TEST(ImporterTest, TuplesAndUnchangedListsAreStructures) {
  EXPECT_EQ(Text(Import(R"(
def forward(self, x):
    a, b = (x, 1)
    c, d = [x, a + b]
    t = (a, b, c, d)
    u = t[1:3]
    q, r, s = torch.unbind(x)
    values, indices = torch.max(x, 0)
    return u[0], torch.cat([c, d, t[-1]]), q, s, indices
)")),
            R"(
)");
}

TEST(ImporterTest, ChangedListsHaveIdentity) {
  EXPECT_EQ(Text(Import(R"(
def forward(self, x):
    a = [x]
    b = [x]
    a.append(x)
    c = (a, 1)
    c[0][0] = x
    return torch.cat(a) + torch.cat(b), c
)")),
            R"(
)");
}

TEST(ImporterTest, ListsThatMayBeAChangedOneHaveIdentity) {
  EXPECT_EQ(Text(Import(R"(
def forward(self, x, p: bool):
    a = [1]
    b = [2]
    c = [3]
    d = [c, [4]]
    if p:
        e = a
    else:
        e = b
    e.append(5)
    for f in d:
        f.append(6)
    return a, b, c, d
)")),
            R"(
)");
}

TEST(ImporterTest, Dicts) {
  EXPECT_EQ(Text(Import(R"(
def forward(self, x, k: str):
    a = {"x": x}
    b = {"x": x}
    b["y"] = a["x"]
    c = {k: x}
    return b, c[k]
)")),
            R"(
)");
}

TEST(ImporterTest, If) {
  // Each branch takes what both need, in the order of first use.
  EXPECT_EQ(Text(Import(R"(
def forward(self, x, y, p: bool):
    n = 3
    if p:
        z, m = x + n, 1
    else:
        z, m = y - x, n
    return z * m
)")),
            R"(
)");
}

TEST(ImporterTest, IfWithoutResult) {
  EXPECT_EQ(Text(Import(R"(
def forward(self, x):
    assert x.dim() == 2, "want 2, got {}".format(x.dim())
    return x
)")),
            R"(
)");
}

TEST(ImporterTest, ForLoop) {
  EXPECT_EQ(Text(Import(R"(
def forward(self, x, n: int):
    for i in range(n):
        x = x + i
    return x
)")),
            R"(
)");
}

TEST(ImporterTest, WhileLoop) {
  EXPECT_EQ(Text(Import(R"(
def forward(self, x, n: int):
    while n > 0:
        x, n = x * n, n - 1
    return x
)")),
            R"(
)");
}

TEST(ImporterTest, BreakAndContinue) {
  EXPECT_EQ(Text(Import(R"(
def forward(self, x, n: int):
    for i in range(n):
        if i == 3:
            continue
        if i > 5:
            break
        x = x + i
    return x
)")),
            R"(
)");
}

TEST(ImporterTest, NestedBodiesCaptureThroughEachOther) {
  torch::jit::Module module("M");
  module.register_parameter("w", torch::ones({2}), false);
  module.define(R"(
def forward(self, x, n: int):
    for i in range(n):
        if i > 2:
            x = x * self.w
    return x + self.w
)");
  EXPECT_EQ(Text(Import(module)),
            R"(
)");
}

TEST(ImporterTest, Optional) {
  EXPECT_EQ(Text(Import(R"(
def forward(self, x, m: Optional[Tensor] = None, k: Optional[List[int]] = None):
    if m is not None:
        x = x + m
    if k is None:
        k = [0]
    return torch.sum(x, k)
)")),
            R"(
)");
}

TEST(ImporterTest, ConstantsDecideBranches) {
  torch::jit::Module module("M");
  module.register_attribute("training", c10::BoolType::get(), false);
  module.register_attribute("bias", c10::OptionalType::create(c10::TensorType::get()), c10::IValue());
  const std::string source = R"(
def forward(self, x):
    if self.training:
        x = torch.dropout(x, 0.5, True)
    b = self.bias
    if b is not None:
        x = x + b
    return x
)";
  module.define(source);
  EXPECT_EQ(Text(Import(module)),
            R"(
)");
  EXPECT_THAT(Text(ImportTorchScriptMethod(module, "forward", {.fold_branches = false})),
              AllOf(HasSubstr("torch.cond(False, @forward_true_0, @forward_false_0"),
                    HasSubstr("aten.dropout")));
}

TEST(ImporterTest, AssignedAttributesAreState) {
  torch::jit::Module module("M");
  torch::jit::Module child("Child");
  module.register_attribute("count", c10::IntType::get(), 5);
  module.register_attribute("seen", c10::ListType::ofInts(), std::vector<int64_t>{1});
  module.register_attribute("fixed", c10::ListType::ofInts(), std::vector<int64_t>{2});
  child.register_buffer("last", torch::zeros({2}));
  child.define(R"(
def forward(self, x):
    self.last = x
    return self.last
)");
  module.register_module("child", child);
  module.define(R"(
def forward(self, x):
    self.count += 1
    self.seen.append(self.count)
    return self.child.forward(x), self.seen, self.fixed
)");
  EXPECT_EQ(Text(Import(module)),
            R"(
)");
}

TEST(ImporterTest, CallsAreInlinedUnderTheirModule) {
  torch::jit::Module root("Root");
  torch::jit::Module layer("Layer");
  torch::jit::Module conv("Conv");
  conv.register_parameter("weight", torch::ones({2, 2}), false);
  conv.define("def forward(self, x):\n    return torch.linear(x, self.weight)\n");
  layer.register_module("conv", conv);
  layer.define("def forward(self, x):\n    return torch.relu(self.conv.forward(x))\n");
  root.register_module("layer1", layer);
  root.define("def forward(self, x):\n    return self.layer1.forward(x) + 1\n");
  EXPECT_EQ(Text(Import(root)),
            R"(
)");
}

TEST(ImporterTest, Attributes) {
  torch::jit::Module module("M");
  module.register_parameter("w", torch::arange(64, torch::kFloat).reshape({8, 8}), false);
  const torch::Tensor tied = torch::tensor({1.5f, -0.25f});
  module.register_parameter("a", tied, false);
  module.register_parameter("b", tied, false);
  module.register_buffer("i", torch::arange(3));
  module.register_buffer("big", torch::arange(100));
  module.register_buffer("scalar", torch::tensor(2.0));
  module.define(R"(
def forward(self, x):
    return self.w, self.a + self.b, self.i, self.big, self.scalar
)");
  const absl::StatusOr<Sample> sample = Import(module);
  ASSERT_OK(sample);
  // `b` is `a`: what is written to one shows in the other.
  EXPECT_THAT(PrintModule(*sample->module, {.header = false, .locations = false}),
              testing::StartsWith(
                  R"(attribute)"));
  ASSERT_EQ(sample->weights.size(), 5);
  const TensorData& a = sample->weights.at("a");
  EXPECT_EQ(a.dtype, DType::kFloat32);
  EXPECT_THAT(a.shape, testing::ElementsAre(2));
  const float values[] = {1.5f, -0.25f};
  EXPECT_EQ(*a.bytes, std::string(reinterpret_cast<const char*>(values), sizeof values));
  EXPECT_TRUE(ImportTorchScriptMethod(module, "forward", {.weights = false})->weights.empty());
}

TEST(ImporterTest, TensorConstants) {
  auto graph = std::make_shared<torch::jit::Graph>();
  torch::jit::Value* x = graph->addInput("x");
  torch::jit::Value* c = graph->insertConstant(torch::tensor({1, 2}));
  graph->registerOutput(graph->insert(c10::aten::mul, {x, c}));
  EXPECT_EQ(Text(ImportTorchScriptGraph(*graph, "main")),
            R"(
)");
}

TEST(ImporterTest, GraphsHaveMetasAndLocations) {
  torch::jit::Graph graph;
  torch::jit::parseIR(R"(
graph(%x : Float(2, 3, strides=[3, 1], device=cpu), %n : int):
  %y.1 : Float(2, 3, device=cpu) = aten::relu(%x)
  %5 : Half(*, *) = aten::neg(%y.1)
  return (%y.1, %5, %n)
)",
                      &graph);
  EXPECT_EQ(Text(ImportTorchScriptGraph(graph, "main")),
            R"(
)");
  torch::jit::Module module("M");
  module.define("def forward(self, x):\n    y = x\n    return y + torch.relu(x)\n");
  const absl::StatusOr<Sample> sample = Import(module);
  ASSERT_OK(sample);
  const SourceLocation location = sample->module->main()->FindNode("relu")->location();
  EXPECT_EQ(location.line, 3);
}

TEST(ImporterTest, ThroughAFile) {
  torch::jit::Module module("M");
  module.register_parameter("w", torch::ones({2}), false);
  module.define(R"(
def forward(self, x, n: int = 3):
    return x * self.w + n
def other(self):
    return 1
)");
  std::ostringstream out;
  module.save(out);
  const std::string text = R"(
)";
  EXPECT_EQ(Text(ImportTorchScript(out.str(), "dir/net.v2.pt", {.trust = true})), text);
  const absl::StatusOr<Sample> sample = ImportTorchScript(out.str(), "dir/net.v2.pt");
  EXPECT_EQ(Text(sample), text);
  EXPECT_EQ(sample->name, "net.v2");
  EXPECT_THAT(Text(ImportTorchScript(out.str(), "m.pt", {.method = "other"})),
              HasSubstr("graph @other() {\n  return 1\n}"));
  EXPECT_THAT(ImportTorchScript(out.str(), "m.pt", {.method = "nope"}),
              StatusIs(absl::StatusCode::kNotFound, "m.pt: the module has no method nope"));
}

TEST(ImporterTest, DamagedFiles) {
  torch::jit::Module module("M");
  module.define("def forward(self, x):\n    return x\n");
  std::ostringstream out;
  module.save(out);
  const std::string bytes = out.str();
  for (const size_t size : {size_t{0}, size_t{10}, bytes.size() / 2, bytes.size() - 1}) {
    for (const bool trust : {false, true}) {
      const absl::StatusOr<Sample> sample =
          ImportTorchScript(bytes.substr(0, size), "m.pt", {.trust = trust});
      EXPECT_THAT(std::string(sample.status().message()), testing::StartsWith("m.pt: ")) << size;
      EXPECT_THAT(std::string(sample.status().message()), Not(HasSubstr("\n")));
    }
  }
  EXPECT_THAT(ImportTorchScriptFile("/nowhere/m.pt"), StatusIs(absl::StatusCode::kNotFound));
}

// Each message names the operation and the line.
TEST(ImporterTest, Errors) {
  torch::jit::Graph graph;
  torch::jit::parseIR(R"(
graph(%x : Tensor):
  %y : Tensor = made::up(%x)
  return (%y)
)",
                      &graph);
  EXPECT_THAT(ImportTorchScriptGraph(graph, "main"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("cannot represent made::up: there is no such operator")));

  torch::jit::Module child("Child");
  child.define("def forward(self, x):\n    return x\n");
  torch::jit::Module module("M");
  module.register_module("child", child);
  module.define("def forward(self, x):\n    c = self.child\n    y = x + 1\n    return (y, c)\n");
  EXPECT_THAT(Import(module), StatusIs(absl::StatusCode::kInvalidArgument,
                                       AllOf(HasSubstr("cannot represent prim::TupleConstruct"),
                                             HasSubstr("self.child"), HasSubstr(":3"))));
}

TEST(ImporterTest, Limits) {
  // f0 calls f1 twice, which calls f2 twice …
  std::string calls = "def f0(self, x):\n    return x + 1\n";
  for (int i = 1; i <= 40; ++i) {
    absl::StrAppend(&calls, "def f", i, "(self, x):\n    return self.f", i - 1, "(self.f", i - 1, "(x))\n");
  }
  EXPECT_THAT(Import(calls + "def forward(self, x):\n    return self.f40(x)\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("with its calls inlined")));

  // Each list holds the one before it twice.
  std::string lists = "def forward(self, x):\n    t0 = [x, x]\n";
  for (int i = 1; i <= 22; ++i) {
    absl::StrAppend(&lists, "    t", i, " = [t", i - 1, ", t", i - 1, "]\n");
  }
  EXPECT_THAT(Import(lists + "    return t22\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("structure is too large")));

  const auto nested = [](int depth) {
    std::string source = "def forward(self, x, n: int):\n";
    for (int i = 1; i <= depth; ++i) {
      absl::StrAppend(&source, std::string(i, ' '), "if n > ", i, ":\n");
    }
    return source + std::string(depth + 1, ' ') + "x = x + 1\n return x\n";
  };
  EXPECT_OK(Import(nested(100)));
  EXPECT_THAT(Import(nested(201)), Not(IsOk()));
}

}  // namespace
}  // namespace graphnet
