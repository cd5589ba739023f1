// Imports TorchScript source and compares the text form. Modules are compiled in the
// process, so no Python is needed.
#include "graphnet/formats/torchscript/importer.h"

#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ATen/core/builtin_function.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "graphnet/formats/torchscript/import_graph.h"
#include "graphnet/ir/sample.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "torch/csrc/jit/frontend/resolver.h"
#include "torch/csrc/jit/frontend/sugared_value.h"
#include "torch/csrc/jit/ir/irparser.h"
#include "torch/library.h"
#include "torch/script.h"

namespace graphnet {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Returns the module's text without locations, blank lines and attributes, which have
// their own test. The inputs of each graph are on one line.
std::string Text(const absl::StatusOr<Sample>& sample) {
  EXPECT_OK(sample);
  if (!sample.ok()) return "";
  EXPECT_OK(Verify(*sample->module));
  std::string out;
  bool in_inputs = false;
  std::istringstream lines(PrintModule(*sample->module, {.header = false, .locations = false}));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.rfind("attribute ", 0) == 0) continue;
    if (in_inputs) line.erase(0, line.find_first_not_of(' '));
    if (line == ") {") out.pop_back();
    in_inputs = line.back() == '(' || (in_inputs && line != ") {");
    out += line;
    out += in_inputs ? (line.back() == '(' ? "" : " ") : "\n";
  }
  return out;
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
  // `b` is `a`, so a write to one shows in the other.
  EXPECT_THAT(PrintModule(*sample->module, {.header = false, .locations = false}),
              testing::StartsWith(R"(attribute)"));
  ASSERT_EQ(sample->weights.size(), 5);
  const TensorData& a = sample->weights.at("a");
  EXPECT_EQ(a.dtype, DType::kFloat32);
  EXPECT_THAT(a.shape, testing::ElementsAre(2));
  const float values[] = {1.5f, -0.25f};
  EXPECT_EQ(*a.bytes, std::string(reinterpret_cast<const char*>(values), sizeof values));
  EXPECT_TRUE(ImportTorchScriptMethod(module, "forward", {.weights = false})->weights.empty());
}

// Returns "name annotation", one a line.
std::string AttributesOf(const absl::StatusOr<Sample>& sample) {
  EXPECT_OK(sample);
  std::string out;
  if (!sample.ok()) return out;
  for (const Attribute& attribute : sample->module->attributes())
    absl::StrAppend(&out, attribute.name, " ", attribute.annotation, "\n");
  return out;
}

TEST(ImporterTest, AttributesHaveNameAndKindOfTheirSlots) {
  const torch::Tensor weight = torch::randn({2, 2});
  torch::jit::Module inner("Inner");
  inner.register_parameter("weight", weight, false);
  inner.register_buffer("mean", torch::randn({2}));
  const auto module_with = [&](const std::string& source) {
    torch::jit::Module module("M");
    // Slots that come before the module's, in which the same tensors lie.
    module.register_attribute("ws", c10::ListType::ofTensors(),
                              c10::List<at::Tensor>({weight, inner.attr("mean").toTensor()}));
    module.register_attribute("pair", c10::TupleType::create({c10::TensorType::get()}),
                              c10::ivalue::Tuple::create({weight.detach()}));
    c10::Dict<std::string, at::Tensor> dict;
    dict.insert("w", weight);
    module.register_attribute("dict",
                              c10::DictType::create(c10::StringType::get(), c10::TensorType::get()),
                              c10::IValue(dict));
    module.register_buffer("alias", weight);
    module.register_module("l", inner);
    module.define(source);
    return module;
  };
  const std::string parameter = "l.weight torch.nn.parameter.Parameter\n";
  for (const std::string read : {"self.ws[0]", "self.pair[0]", "self.dict[\"w\"]", "self.alias",
                                 "self.l.weight", "self.ws[0] + self.alias + self.l.weight"}) {
    EXPECT_EQ(AttributesOf(Import(
                  module_with(absl::StrCat("def forward(self, x):\n    return x + ", read, "\n")))),
              parameter + (absl::StrContains(read, "ws") ? "l.mean torch.Tensor\n" : ""))
        << read;
  }
  EXPECT_EQ(AttributesOf(Import(module_with("def forward(self, x):\n    return x + self.ws[1]\n"))),
            parameter + "l.mean torch.Tensor\n");
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

// A write to one of the two attributes would not show in the other.
TEST(ImporterTest, AttributesThatOverlapAreNotWrittenTo) {
  const auto with_views = [](const std::string& source) {
    torch::jit::Module module("M");
    const at::Tensor all = torch::arange(6.f);
    module.register_buffer("head", all.slice(0, 0, 4));
    module.register_buffer("tail", all.slice(0, 2, 6));
    module.register_buffer("end", all.slice(0, 4, 6));
    module.define(source);
    return Import(module);
  };
  EXPECT_OK(with_views("def forward(self, x):\n    return self.head + self.tail\n"));
  EXPECT_OK(with_views(
      "def forward(self, x):\n    self.end.add_(1)\n    return self.head[0] + self.end\n"));
  EXPECT_THAT(
      with_views(
          "def forward(self, x):\n    self.head.add_(1)\n    return self.head + self.tail\n"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("the attributes head and tail overlap in memory")));
  EXPECT_THAT(with_views("def forward(self, x):\n    y = self.head\n    y[0:2].mul_(x)\n"
                         "    return y + self.tail\n"),
              Not(IsOk()));
}

// Values of inputs and attributes are kept under one name each.
TEST(ImporterTest, AttributesGiveWayToInputsOfTheirNames) {
  const auto import = [](const std::string& source) {
    torch::jit::Module inner("Inner");
    inner.register_buffer("weight", torch::full({1}, 5.f));
    torch::jit::Module module("M");
    module.register_buffer("x", torch::full({1}, 2.f));
    module.register_buffer("x_", torch::full({1}, 3.f));
    module.register_module("y", inner);
    module.define(source);
    return ImportTorchScriptMethod(module, "forward", {.weights = true});
  };
  const auto names = [](const absl::StatusOr<Sample>& sample) {
    EXPECT_OK(sample);
    std::vector<std::string> names;
    for (const Node* input : sample->module->main()->placeholders())
      names.emplace_back(input->target());
    for (const auto& [name, value] : sample->weights) {
      names.push_back(
          absl::StrCat(name, "=", reinterpret_cast<const float*>(value.bytes->data())[0]));
    }
    return absl::StrJoin(names, " ");
  };
  EXPECT_EQ(names(import("def forward(self, x):\n    return x * self.x\n")), "x x__=2");
  EXPECT_EQ(names(import("def forward(self, x, x_):\n    return x * self.x + x_ * self.x_\n")),
            "x x_ x__=2 x___=3");
  // A tensor has no elements that could be called y.weight.
  EXPECT_EQ(names(import("def forward(self, y):\n    return y * self.y.weight\n")), "y y.weight=5");
  for (const char* const type : {"List[Tensor]", "Dict[str, Tensor]", "Tuple[Tensor, int]",
                                 "Optional[List[Tensor]]", "Any"}) {
    EXPECT_EQ(names(import(absl::StrCat("def forward(self, y: ", type,
                                        ", z):\n    return z * self.y.weight, y\n"))),
              "y z y_.weight=5")
        << type;
  }
}

// PyTorch writes the names of attributes without escapes.
TEST(ImporterTest, AttributesThatNothingReadsHaveAnyName) {
  for (const std::string name : {"é", "日本", "a b", "\U0001F600", "weight é"}) {
    torch::jit::Module module("M");
    module.register_buffer(name, torch::ones({1}));
    module.register_parameter(name + "p", torch::ones({1}), false);
    module.define("def forward(self, x):\n    return x + 1\n");
    std::ostringstream archive;
    module.save(archive);
    EXPECT_OK(ImportTorchScript(archive.str(), "m.pt")) << name;
  }
}

void DeclareNms(torch::Library* library) {
  library->def("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor");
}

// Returns an archive whose forward calls torchvision::nms, which is not declared.
std::string ArchiveOfNms() {
  torch::Library library(torch::Library::FRAGMENT, "torchvision", std::nullopt, __FILE__, __LINE__);
  DeclareNms(&library);
  torch::jit::Module module("M");
  const auto graph = std::make_shared<torch::jit::Graph>();
  graph->addInput("self")->setType(module.type());
  torch::jit::Value* boxes = graph->addInput("boxes");
  torch::jit::Value* scores = graph->addInput("scores");
  graph->registerOutput(graph->insert(c10::Symbol::fromQualString("torchvision::nms"),
                                      {boxes, scores, graph->insertConstant(0.5)}));
  module.type()->addMethod(module._ivalue()->compilation_unit()->create_function(
      c10::QualifiedName(*module.type()->name(), "forward"), graph));
  std::ostringstream archive;
  module.save(archive);
  return archive.str();
}

// Torchvision's library may be loaded later and must then be the first to declare them.
TEST(ImporterTest, OperatorsOfTorchvisionAreDeclaredDuringTheImportOnly) {
  const std::string archive = ArchiveOfNms();
  const auto find = [] {
    return c10::Dispatcher::singleton().findSchema({"torchvision::nms", ""});
  };
  ASSERT_FALSE(find());
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(Text(ImportTorchScript(archive, "m.pt")),
                HasSubstr("torchvision.nms.default(%boxes, %scores, 0.5)"));
    EXPECT_FALSE(find());
  }
  torch::Library library(torch::Library::FRAGMENT, "torchvision", std::nullopt, __FILE__, __LINE__);
  DeclareNms(&library);
  EXPECT_TRUE(find());
}

// One thread removed the declaration while another declared it again, which PyTorch refuses.
TEST(ImporterTest, ThreadsDeclareOperatorsOfTorchvisionTogether) {
  const std::string archive = ArchiveOfNms();
  std::vector<std::thread> threads;
  std::vector<std::string> errors(2);
  for (std::string& error : errors) {
    threads.emplace_back([&archive, &error] {
      for (int i = 0; i < 3000 && error.empty(); ++i)
        error = std::string(ImportTorchScript(archive, "m.pt").status().message());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(errors, testing::Each(""));
  EXPECT_FALSE(c10::Dispatcher::singleton().findSchema({"torchvision::nms", ""}));
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
  EXPECT_THAT(
      ImportTorchScriptGraph(graph, "main"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("cannot represent made::up: LibTorch does not have this operator")));

  torch::jit::Module child("Child");
  child.define("def forward(self, x):\n    return x\n");
  torch::jit::Module module("M");
  module.register_module("child", child);
  module.define("def forward(self, x):\n    c = self.child\n    y = x + 1\n    return (y, c)\n");
  EXPECT_THAT(Import(module), StatusIs(absl::StatusCode::kInvalidArgument,
                                       AllOf(HasSubstr("cannot represent prim::TupleConstruct"),
                                             HasSubstr("self.child"), HasSubstr(":3"))));
}

TEST(ImporterTest, RefusesTensorsThatAreNotDense) {
  torch::jit::Module module("M");
  module.register_attribute("undefined", c10::TensorType::get(), at::Tensor());
  module.register_buffer("sparse", torch::ones({2, 2}).to_sparse());
  module.define("def forward(self):\n    return self.undefined\n");
  module.define("def other(self):\n    return self.sparse\n");
  EXPECT_THAT(Import(module),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("an undefined tensor")));
  EXPECT_THAT(ImportTorchScriptMethod(module, "other"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a tensor that is not dense, sparse")));
}

TEST(ImporterTest, RefusesMethodsThatAreNotTorchScript) {
  static torch::jit::BuiltinOpFunction function(
      c10::QualifiedName("__torch__.M.forward"),
      c10::FunctionSchema("forward", "", {}, {c10::Argument("")}), [](torch::jit::Stack&) {});
  torch::jit::Module module("M");
  module.type()->addMethod(&function);
  EXPECT_THAT(Import(module), StatusIs(absl::StatusCode::kInvalidArgument,
                                       "the method forward is not written in TorchScript"));
}

// Neither compiler nor tracer makes such graphs.
TEST(ImporterTest, RefusesGraphsWithAWrongStructure) {
  torch::jit::Module module("M");
  module.define("def forward(self, x):\n    return x\n");
  torch::jit::Graph empty;
  EXPECT_THAT(ImportTorchScriptGraph(empty, "main", &module),
              StatusIs(absl::StatusCode::kInvalidArgument, "the method does not take self"));

  torch::jit::Graph slice;
  torch::jit::parseIR(R"(
graph(%x : Tensor):
  %t : (Tensor, Tensor) = prim::TupleConstruct(%x, %x)
  %s : (Tensor, Tensor, Tensor) = prim::TupleSlice[beg=1, end=4](%t)
  return (%s)
)",
                      &slice);
  EXPECT_THAT(ImportTorchScriptGraph(slice, "main"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("cannot represent prim::TupleSlice: the slice is out of bounds")));

  torch::jit::Graph function;
  torch::jit::Node* constant = function.insertNode(function.create(c10::prim::Constant));
  constant->output()->setType(c10::FunctionType::create(&module.get_method("forward").function()));
  function.registerOutput(constant->output());
  EXPECT_THAT(ImportTorchScriptGraph(function, "main"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a constant of type ")));
}

TEST(ImporterTest, Limits) {
  // f0 calls f1 twice, which calls f2 twice …
  std::string calls = "def f0(self, x):\n    return x + 1\n";
  for (int i = 1; i <= 40; ++i) {
    absl::StrAppend(&calls, "def f", i, "(self, x):\n    return self.f", i - 1, "(self.f", i - 1,
                    "(x))\n");
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
