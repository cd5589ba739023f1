// Imports TorchScript source and compares the text form. Modules are compiled in the
// process, so no Python is needed.
#include "graphnet/formats/torchscript/importer.h"

#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "graphnet/formats/torchscript/import_graph.h"
#include "graphnet/ir/sample.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/formats/torchscript/import_text.h"
#include "torch/csrc/jit/frontend/resolver.h"
#include "torch/csrc/jit/frontend/sugared_value.h"
#include "torch/csrc/jit/ir/irparser.h"
#include "torch/script.h"

namespace graphnet {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(ImporterTest, Operators) {
  // Defaults are left out as in torch.fx. Ints that the schema declares as ScalarType,
  // Layout or MemoryFormat become dtypes, layouts and memory formats.
  EXPECT_EQ(Text(Import(R"(
def forward(self, x, n: int):
    y = torch.add(x, x, alpha=1)
    y = torch.add(y, 2.5, alpha=n)
    z = torch.zeros([n, 3], dtype=6, layout=0, device=torch.device("cuda:1"))
    w = torch.contiguous(z, memory_format=2)
    return torch.conv2d(y, w, None, [2, 2])
)")),
            R"(graph @forward(%x as torch.Tensor, %n as int) {
  %y = aten.add.Tensor(%x, %x)
  %y_1 = aten.add.Scalar(%y, 2.5, %n)
  %z = aten.zeros.default([%n, 3], dtype = torch.float32, layout = torch.strided, device = device("cuda:1"))
  %w = aten.contiguous.default(%z, memory_format = torch.channels_last)
  %conv2d = aten.conv2d.default(%y_1, %w, None, [2, 2])
  return %conv2d
}
)");
}

TEST(ImporterTest, Constants) {
  EXPECT_EQ(Text(Import(R"(
def forward(self, x):
    return (None, True, -3, 1.5, 2j, "a\n", [1, 2], [1.0], [x, x], (x, (1,)), {"k": x, "l": x})
)")),
            R"(graph @forward(%x as torch.Tensor) {
  return (None, True, -3, 1.5, complex(0.0, 2.0), "a\n", [1, 2], [1.0], [%x, %x], (%x, (1,)), {"k": %x, "l": %x})
}
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
            R"(graph @forward(%x as torch.Tensor) {
  %add = aten.add.Scalar(%x, 1)
  %unbind = aten.unbind.int(%x)
  %q = operator.getitem(%unbind, 0)
  %s = operator.getitem(%unbind, 2)
  %max = aten.max.dim(%x, 0)
  %indices = operator.getitem(%max, 1)
  %cat = aten.cat.default([%x, %add, %add])
  return (1, %cat, %q, %s, %indices)
}
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
            R"(graph @forward(%x as torch.Tensor) {
  %a = prim.ListConstruct(%x) as "List[Tensor]"
  %append = aten.append.t(%a, %x)
  %_set_item = aten._set_item.t(%a, 0, %x)
  %cat = aten.cat.default(%a)
  %cat_1 = aten.cat.default([%x])
  %add = aten.add.Tensor(%cat, %cat_1)
  return (%add, (%a, 1))
}
)");
}

TEST(ImporterTest, ListsThatMayBeAChangedOneHaveIdentity) {
  EXPECT_THAT(
      Text(Import(R"(
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
      AllOf(HasSubstr("%a = prim.ListConstruct(1) as \"List[int]\"\n"),
            HasSubstr("%b = prim.ListConstruct(2) as \"List[int]\"\n"),
            HasSubstr("%c = prim.ListConstruct(3) as \"List[int]\"\n"),
            HasSubstr("%d = prim.ListConstruct(%c, %ListConstruct) as \"List[List[int]]\"\n"),
            HasSubstr("torch.cond(%p, @forward_true_0, @forward_false_0, (%a, %b))"),
            HasSubstr("torch.ops.higher_order.while_loop(@forward_cond_0, @forward_body_0, (0,), "
                      "(%d, %len))"),
            HasSubstr("%f = aten.__getitem__.t(%d, %index)\n  %append = aten.append.t(%f, 6)"),
            HasSubstr("return (%a, %b, %c, %d)")));
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
            R"(graph @forward(%x as torch.Tensor, %k as str) {
  %b = prim.DictConstruct("x", %x) as "Dict[str, Tensor]"
  %__getitem__ = aten.__getitem__.Dict_str({"x": %x}, "x")
  %_set_item = aten._set_item.str(%b, "y", %__getitem__)
  %c = prim.DictConstruct(%k, %x) as "Dict[str, Tensor]"
  %__getitem___1 = aten.__getitem__.Dict_str(%c, %k)
  return (%b, %__getitem___1)
}
)");
}

TEST(ImporterTest, If) {
  // Each branch takes the values that either needs, in the order of first use.
  EXPECT_EQ(Text(Import(R"(
def forward(self, x, y, p: bool):
    n = 3
    if p:
        z, m = x + n, 1
    else:
        z, m = y - x, n
    return z * m
)")),
            R"(graph @forward(%x as torch.Tensor, %y as torch.Tensor, %p as bool) {
  %cond = torch.cond(%p, @forward_true_0, @forward_false_0, (%x, %y))
  %z = operator.getitem(%cond, 0)
  %m = operator.getitem(%cond, 1)
  %mul = aten.mul.Scalar(%z, %m)
  return %mul
}
graph @forward_true_0(%x, %y) {
  %z = aten.add.Scalar(%x, 3)
  return (%z, 1)
}
graph @forward_false_0(%x, %y) {
  %z = aten.sub.Tensor(%y, %x)
  return (%z, 3)
}
)");
}

TEST(ImporterTest, IfWithoutResult) {
  EXPECT_EQ(Text(Import(R"(
def forward(self, x):
    assert x.dim() == 2, "want 2, got {}".format(x.dim())
    return x
)")),
            R"(graph @forward(%x as torch.Tensor) {
  %dim = aten.dim.default(%x)
  %eq = aten.eq.int(%dim, 2)
  %cond = torch.cond(%eq, @forward_true_0, @forward_false_0, (%x,))
  return %x
}
graph @forward_true_0(%x) {
  return ()
}
graph @forward_false_0(%x) {
  %dim = aten.dim.default(%x)
  %format = aten.format.default("want 2, got {}", %dim)
  %add = aten.add.str("AssertionError: ", %format)
  %RaiseException = prim.RaiseException.default(%add)
  return ()
}
)");
}

TEST(ImporterTest, ForLoop) {
  EXPECT_EQ(Text(Import(R"(
def forward(self, x, n: int):
    for i in range(n):
        x = x + i
    return x
)")),
            R"(graph @forward(%x as torch.Tensor, %n as int) {
  %while_loop = torch.ops.higher_order.while_loop(@forward_cond_0, @forward_body_0, (0, %x), (%n,))
  %x_1 = operator.getitem(%while_loop, 1)
  return %x_1
}
graph @forward_cond_0(%i as int, %x, %n as int) {
  %lt = operator.lt(%i, %n)
  return %lt
}
graph @forward_body_0(%i as int, %x, %n as int) {
  %x_1 = aten.add.Scalar(%x, %i)
  %add = operator.add(%i, 1)
  return (%add, %x_1)
}
)");
}

TEST(ImporterTest, WhileLoop) {
  EXPECT_EQ(Text(Import(R"(
def forward(self, x, n: int):
    while n > 0:
        x, n = x * n, n - 1
    return x
)")),
            R"(graph @forward(%x as torch.Tensor, %n as int) {
  %gt = aten.gt.int(%n, 0)
  %while_loop = torch.ops.higher_order.while_loop(@forward_cond_0, @forward_body_0, (%gt, %x, %n), ())
  %x_1 = operator.getitem(%while_loop, 1)
  return %x_1
}
graph @forward_cond_0(%proceed as bool, %x, %n as int) {
  return %proceed
}
graph @forward_body_0(%proceed as bool, %x, %n as int) {
  %x_1 = aten.mul.Scalar(%x, %n)
  %n_1 = aten.sub.int(%n, 1)
  %gt = aten.gt.int(%n_1, 0)
  return (%gt, %x_1, %n_1)
}
)");
}

TEST(ImporterTest, BreakAndContinue) {
  // LibTorch turns them into flags and uninitialized values, which become None.
  EXPECT_THAT(Text(Import(R"(
def forward(self, x, n: int):
    for i in range(n):
        if i == 3:
            continue
        if i > 5:
            break
        x = x + i
    return x
)")),
              AllOf(HasSubstr("torch.ops.higher_order.while_loop(@forward_cond_0, @forward_body_0, "
                              "(%gt, %x, 0), (%n,))"),
                    HasSubstr("graph @forward_body_0_true_0(%x, %carried as int) {\n"
                              "  return (True, True, %x, None, None)\n}"),
                    HasSubstr("graph @forward_body_0_false_0_true_0(%x, %carried as int) {\n"
                              "  return (True, False, %x, None, None)\n}"),
                    HasSubstr("  %x_1 = aten.add.Scalar(%x, %carried)\n"
                              "  return (False, None, None, True, %x_1)\n}"),
                    HasSubstr("  %lt = aten.lt.int(%add, %n)\n"
                              "  %__and__ = aten.__and__.bool(%lt, %getitem_5)\n"
                              "  return (%__and__, %getitem_6, %add)\n}")));
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
            R"(graph @forward(%x as torch.Tensor, %n as int) {
  %w = get_attr w : f32[2]@cpu
  %while_loop = torch.ops.higher_order.while_loop(@forward_cond_0, @forward_body_0, (0, %x), (%w, %n))
  %x_1 = operator.getitem(%while_loop, 1)
  %add = aten.add.Tensor(%x_1, %w)
  return %add
}
graph @forward_cond_0(%i as int, %x, %w : f32[2]@cpu, %n as int) {
  %lt = operator.lt(%i, %n)
  return %lt
}
graph @forward_body_0(%i as int, %x, %w : f32[2]@cpu, %n as int) {
  %gt = aten.gt.int(%i, 2)
  %cond = torch.cond(%gt, @forward_body_0_true_0, @forward_body_0_false_0, (%x, %w))
  %x_1 = operator.getitem(%cond, 0)
  %add = operator.add(%i, 1)
  return (%add, %x_1)
}
graph @forward_body_0_true_0(%x, %w : f32[2]@cpu) {
  %x_1 = aten.mul.Tensor(%x, %w)
  return (%x_1,)
}
graph @forward_body_0_false_0(%x, %w : f32[2]@cpu) {
  return (%x,)
}
)");
}

TEST(ImporterTest, Optional) {
  EXPECT_EQ(
      Text(Import(R"(
def forward(self, x, m: Optional[Tensor] = None, k: Optional[List[int]] = None):
    if m is not None:
        x = x + m
    if k is None:
        k = [0]
    return torch.sum(x, k)
)")),
      R"(graph @forward(%x as torch.Tensor, %m as "Optional[Tensor]", %k as "Optional[List[int]]") {
  %__isnot__ = aten.__isnot__.default(%m, None)
  %cond = torch.cond(%__isnot__, @forward_true_0, @forward_false_0, (%x, %m))
  %x_1 = operator.getitem(%cond, 0)
  %__is__ = aten.__is__.default(%k, None)
  %cond_1 = torch.cond(%__is__, @forward_true_1, @forward_false_1, (%k,))
  %k_1 = operator.getitem(%cond_1, 0)
  %sum = aten.sum.dim_IntList(%x_1, %k_1)
  return %sum
}
graph @forward_true_0(%x, %m as "Optional[Tensor]") {
  %x_1 = aten.add.Tensor(%x, %m)
  return (%x_1,)
}
graph @forward_false_0(%x, %m as "Optional[Tensor]") {
  return (%x,)
}
graph @forward_true_1(%k as "Optional[List[int]]") {
  return ([0],)
}
graph @forward_false_1(%k as "Optional[List[int]]") {
  return (%k,)
}
)");
}

TEST(ImporterTest, ConstantsDecideBranches) {
  torch::jit::Module module("M");
  module.register_attribute("training", c10::BoolType::get(), false);
  module.register_attribute("bias", c10::OptionalType::create(c10::TensorType::get()),
                            c10::IValue());
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
            R"(graph @forward(%x as torch.Tensor) {
  return %x
}
)");
  EXPECT_THAT(Text(ImportTorchScriptMethod(module, "forward", {.fold_branches = false})),
              AllOf(HasSubstr("torch.cond(False, @forward_true_0, @forward_false_0"),
                    HasSubstr("aten.dropout")));
}

TEST(ImporterTest, EnumsDecideBranches) {
  torch::jit::Module module("M");
  const auto type =
      c10::EnumType::create(c10::QualifiedName("__torch__.Format"), c10::IntType::get(),
                            {{"NCHW", 3}, {"NHWC", 7}}, module._ivalue()->compilation_unit());
  module.register_attribute(
      "format", type,
      c10::IValue(c10::make_intrusive<c10::ivalue::EnumHolder>(type, "NHWC", c10::IValue(7))));
  struct Names : torch::jit::NativeResolver {
    explicit Names(c10::EnumTypePtr type) : format(std::move(type)) {}
    std::shared_ptr<torch::jit::SugaredValue> resolveValue(
        const std::string& name, torch::jit::GraphFunction& function,
        const torch::jit::SourceRange& where) override {
      if (name == "Format") return std::make_shared<torch::jit::SugaredEnumClass>(format);
      return NativeResolver::resolveValue(name, function, where);
    }
    c10::EnumTypePtr format;
  };
  module.define(R"(
def forward(self, x):
    if self.format != Format.NCHW:
        x = torch.relu(x)
    if self.format == Format.NCHW:
        x = torch.exp(x)
    return x * self.format.value
)",
                std::make_shared<Names>(type));
  constexpr char kText[] = R"(graph @forward(%x as torch.Tensor) {
  %x_1 = aten.relu.default(%x)
  %mul = aten.mul.Scalar(%x_1, 7)
  return %mul
}
)";
  EXPECT_EQ(Text(Import(module)), kText);
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
            R"(graph @forward(%x as torch.Tensor) {
  %count = prim.GetAttr("", "count", 5)
  %add = aten.add.int(%count, 1)
  %SetAttr = prim.SetAttr("", "count", %add)
  %seen = prim.GetAttr("", "seen", [1])
  %count_1 = prim.GetAttr("", "count", 5)
  %append = aten.append.t(%seen, %count_1)
  %SetAttr_1 = prim.SetAttr("child", "last", %x) in child
  %child_last = get_attr child.last : f32[2]@cpu
  %last = prim.GetAttr("child", "last", %child_last) in child
  %seen_1 = prim.GetAttr("", "seen", [1])
  return (%last, %seen_1, [2])
}
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
            R"(graph @forward(%x as torch.Tensor) {
  %layer1_conv_weight = get_attr layer1.conv.weight : f32[2, 2]@cpu
  %linear = aten.linear.default(%x, %layer1_conv_weight) in layer1.conv
  %relu = aten.relu.default(%linear) in layer1
  %add = aten.add.Scalar(%relu, 1)
  return %add
}
)");
}

TEST(ImporterTest, OtherMethods) {
  torch::jit::Module module("M");
  module.define("def encode(self, x):\n    return x + 1\n");
  module.define("def decode(self, x):\n    return x - 1\n");
  EXPECT_THAT(Text(ImportTorchScriptMethod(module, "decode")), HasSubstr("graph @decode("));
  EXPECT_THAT(Import(module),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("no method forward; --method chooses one of encode, decode")));
  EXPECT_THAT(
      Import(torch::jit::Module("Empty")),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("no method forward, and no other one")));
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
  torch::jit::Value* constant = graph.insertConstant(torch::tensor({1, 2}));
  graph.registerOutput(graph.insert(c10::aten::mul, {graph.inputs()[0], constant}));
  EXPECT_EQ(Text(ImportTorchScriptGraph(graph, "main")),
            R"(graph @main(%x : f32[2, 3]@cpu as torch.Tensor, %n as int) {
  %relu = aten.relu.default(%x) : f32[2, 3]@cpu
  %neg = aten.neg.default(%relu) : f16
  %_tensor_constant0 = get_attr _tensor_constant0 : i64[2]@cpu
  %mul = aten.mul.Tensor(%x, %_tensor_constant0)
  return (%relu, %neg, %n, %mul)
}
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
  const std::string text = R"(graph @forward(%x as torch.Tensor, %n as int {data = [3]}) {
  %w = get_attr w : f32[2]@cpu
  %mul = aten.mul.Tensor(%x, %w)
  %add = aten.add.Scalar(%mul, %n)
  return %add
}
)";
  EXPECT_EQ(Text(ImportTorchScript(out.str(), "dir/net.v2.pt", {.trust = true})), text);
  const absl::StatusOr<Sample> sample = ImportTorchScript(out.str(), "dir/net.v2.pt");
  EXPECT_EQ(Text(sample), text);
  EXPECT_EQ(sample->name, "net.v2");
  EXPECT_THAT(Text(ImportTorchScript(out.str(), "m.pt", {.method = "other"})),
              HasSubstr("graph @other() {\n  return 1\n}"));
  EXPECT_THAT(ImportTorchScript(out.str(), "m.pt", {.method = "nope"}),
              StatusIs(absl::StatusCode::kNotFound,
                       "m.pt: the module has no method nope; --method chooses one of forward, "
                       "other"));
}

// LibTorch writes `torch = self.torch`, after which no function of PyTorch can be called.
TEST(ImporterTest, SubmodulesWithNamesOfPyTorch) {
  torch::jit::Module inner("Inner");
  inner.define("def forward(self, x):\n    return torch.relu(x)\n");
  torch::jit::Module module("M");
  module.register_module("torch", inner);
  module.register_module("annotate", inner);
  module.define(R"(
def forward(self, x):
    y = torch.neg(x)
    return self.torch.forward(y), self.annotate.forward(y)
)");
  std::ostringstream out;
  module.save(out);
  EXPECT_EQ(Text(ImportTorchScript(out.str(), "m.pt")), R"(graph @forward(%x as torch.Tensor) {
  %y = aten.neg.default(%x)
  %relu = aten.relu.default(%y) in torch
  %relu_1 = aten.relu.default(%y) in annotate
  return (%relu, %relu_1)
}
)");
}

// Tracing writes `x * 1.5` as a product of two tensors. LibTorch turns only the second operand of
// add, sub, mul and div back into a number.
TEST(ImporterTest, NumbersOfTracesAreNumbers) {
  torch::jit::Graph graph;
  torch::jit::Value* x = graph.addInput("x");
  using Values = std::vector<torch::jit::NamedValue>;
  const auto call = [&](c10::Symbol kind, const Values& args, const Values& kwargs = {}) {
    graph.registerOutput(graph.insert(kind, args, kwargs));
  };
  const auto constant = [&](const at::Tensor& tensor) { return graph.insertConstant(tensor); };
  torch::jit::Value* f64 = constant(torch::tensor(1.5, torch::kDouble));
  const c10::complex<double> number(1, 2);
  call(c10::aten::mul, {x, f64});
  call(c10::aten::add, {x, constant(torch::tensor(2))}, {{"alpha", 3}});
  call(c10::aten::sub, {x, constant(torch::tensor(0.5, torch::kHalf))});
  call(c10::aten::div, {x, constant(torch::tensor(number, torch::kComplexDouble))});
  call(c10::aten::mul, {f64, x});
  call(c10::aten::mul_, {x, f64});
  call(c10::aten::div, {x, f64}, {{"rounding_mode", "floor"}});
  call(c10::aten::maximum, {x, f64});
  call(c10::aten::mul, {x, constant(torch::tensor({1.5}))});
  call(c10::aten::mul, {x, constant(torch::tensor(true))});
  EXPECT_THAT(Text(ImportTorchScriptGraph(graph, "main")), HasSubstr(R"(
  %mul = aten.mul.Scalar(%x, 1.5)
  %add = aten.add.Scalar(%x, 2, 3)
  %sub = aten.sub.Scalar(%x, 0.5)
  %div = aten.div.Scalar(%x, complex(1.0, 2.0))
  %_tensor_constant0 = get_attr _tensor_constant0 : f64[]@cpu
  %mul_1 = aten.mul.Tensor(%_tensor_constant0, %x)
  %mul_ = aten.mul_.Tensor(%x, %_tensor_constant0)
  %div_1 = aten.div.Tensor_mode(%x, %_tensor_constant0, rounding_mode = "floor")
  %maximum = aten.maximum.default(%x, %_tensor_constant0)
  %_tensor_constant1 = get_attr _tensor_constant1 : f32[1]@cpu
  %mul_2 = aten.mul.Tensor(%x, %_tensor_constant1)
  %_tensor_constant2 = get_attr _tensor_constant2 : bool[]@cpu
  %mul_3 = aten.mul.Tensor(%x, %_tensor_constant2)
)"));
}

}  // namespace
}  // namespace graphnet
