// Programs of TorchScript that are exported compute the same, and come back unchanged.
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "ATen/ScalarOps.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "graphnet/formats/torchscript/exporter.h"
#include "graphnet/formats/torchscript/import_graph.h"
#include "graphnet/formats/torchscript/importer.h"
#include "graphnet/ir/canonical_hash.h"
#include "graphnet/ir/sample.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/formats/torchscript/export_runs.h"
#include "torch/script.h"

namespace graphnet {
namespace {

using c10::IValue;
using torch::jit::Stack;

TEST(ExporterTest, Operators) {
  CheckRoundTrip(Compile(R"(
def forward(self, x, n: int):
    y = torch.add(x, x, alpha=2)
    y = torch.sub(y, 2.5, alpha=n)
    z = torch.zeros([n, 3], dtype=6, layout=0, device=torch.device("cpu"))
    w = torch.contiguous(torch.transpose(z + y, 0, 1), memory_format=0)
    values, indices = torch.max(w, 1)
    a, b = torch.min(w, 0)
    return values, indices, b, x.to(7), x.size(0) // 2 + n % 2, -n, n / 2
)"),
                 {{Range({2, 3}), 2}});
}

TEST(ExporterTest, Constants) {
  CheckRoundTrip(Compile(R"(
def forward(self, x):
    return (None, True, -3, 1.5, 2j, "a\n\"'\\", [1, 2], [1.0, -2.0], (x, (1,)), {"k": x, "l": x},
            {1: "a"}, [[1], [2, 3]], ("b", [x, x]), float("inf"), -float("inf"), float("nan"),
            1e-45, 9223372036854775807, [True], ["a", "b"], (), 0.1, 0.0, 1e9, 1e18,
            "\001\177")
)"),
                 {{Range({2})}});
}

TEST(ExporterTest, ConstantsThatTheCodeOfAnArchiveGarbles) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(Same(RunText(R"(
graph @forward(%x as "List[float]") {
  %y = operator.add(%x, [0.0, -0.0, 1e12, -1e16, 1e12])
  return (%y, "a\rb", complex(-0.0, 2.0), complex(1.0, inf), -0.0, 0.0)
}
)",
                           {c10::List<double>({1e12, 0.0})}),
                   Tuple({IValue(c10::List<double>({1e12, 0.0, 0.0, -0.0, 1e12, -1e16, 1e12})),
                          IValue("a\rb"), IValue(c10::complex<double>(-0.0, 2)),
                          IValue(c10::complex<double>(1, inf)), IValue(-0.0), IValue(0.0)})));
  // The garbled constants come back as constants.
  const std::string text = R"(
graph @forward(%x) {
  %y = aten.mul.Scalar(%x, 1e12)
  return %y
}
)";
  const absl::StatusOr<Sample> again = ImportTorchScriptMethod(Saved(Parse(text)), "forward");
  ASSERT_OK(again);
  EXPECT_EQ(CanonicalHash(*Parse(text).module), CanonicalHash(*again->module)) << Text(*again);
}

TEST(ExporterTest, Branches) {
  const torch::jit::Module module = Compile(R"(
def forward(self, x, p: bool, q: bool):
    y = x
    if p:
        y = x + 1
        if q:
            y, n = y * 2, 3
        else:
            n = 4
    else:
        n = 5
    t = (x, n) if q else (y, 7)
    k = [n, 1] if p else [n]
    if x.sum() > 0:
        return y, t, k
    return x, t, k
)");
  for (const bool p : {false, true}) {
    for (const bool q : {false, true}) {
      CheckSameResults(module, {{Range({2}), p, q}, {Range({9}), p, q}});
    }
  }
}

TEST(ExporterTest, BranchesThatYieldNone) {
  CheckSameResults(Compile(R"(
def forward(self, x, p: bool, m: Optional[Tensor] = None):
    n: Optional[int] = None
    if p:
        n = 3
    y = x
    if n is not None:
        y = y + n
    if m is not None:
        y = y * m
    return y, n
)"),
                   {{Range({3}), true, IValue()}, {Range({3}), false, Range({3})}});
}

// The program holds None behind a test that raises.
TEST(ExporterTest, NoneOnAPathThatRaises) {
  for (const char* source : {R"(
def forward(self, x, n: int):
    s: Optional[Tensor] = None
    assert s is not None, "no tensor"
    return x + s
)",
                             R"(
def forward(self, x, n: int):
    s: Optional[List[int]] = None
    if n > 1:
        assert s is not None, "no sizes"
        x = x.view(s) + len(s) + s[0]
    return x
)",
                             R"(
def forward(self, x, n: int):
    s: Optional[float] = None
    if n > 1:
        assert s is not None
        x = torch.add(x, x, alpha=s)
    return x
)"}) {
    CheckSameResults(Compile(source), {{Range({2}), 1}, {Range({2}), 2}});
  }
}

// Behind a return on another path, a number is known to be there.
TEST(ExporterTest, NumbersBehindAnEarlyReturn) {
  for (const char* source : {R"(
def forward(self, x, n: int):
    if bool(x.sum() > 0):
        n = n + 1
    else:
        if bool(x.sum() > -1):
            return x
        n = n * 2
        x = x * n
    return torch.tensor([n, 2, n + 1])
)",
                             R"(
def forward(self, x, n: int):
    f = 0.5
    for i in range(n):
        if bool(x.sum() > 8):
            return x
        f = f + i
        x = x + f
    return torch.tensor([[f, 2.0], [1.0, f]])
)"}) {
    CheckSameResults(Compile(source),
                     {{Range({2}), 1}, {Range({2}).neg(), 2}, {Range({2}).mul(0), 0}});
  }
}

// Only its type tells what an empty list could hold.
TEST(ExporterTest, EmptyListsWithinResults) {
  const torch::jit::Module module = Compile(R"(
def forward(self, x):
    a: List[int] = []
    d: Dict[int, str] = {}
    l: List[float] = []
    return [a], x, d, l, {"k": a}
)");
  CheckSameResults(module, {{Range({2})}});
  const absl::StatusOr<Sample> sample = ImportTorchScriptMethod(module, "forward");
  ASSERT_OK(sample);
  const auto type_of = [](const torch::jit::Module& of) {
    return of.get_method("forward").function().getSchema().returns()[0].type()->annotation_str();
  };
  EXPECT_EQ(type_of(Saved(*sample)), type_of(module));
}

// Calls that only torch.export makes: TorchScript has no overload for them.
TEST(ExporterTest, NumbersBeforeTensors) {
  const std::pair<const char*, const char*> kCalls[] = {
      {"aten.sub.Tensor(NUMBER, %x)", "sub"},
      {"aten.sub.Tensor(NUMBER, %x, alpha = 2)", "sub2"},
      {"aten.div.Tensor(NUMBER, %x)", "div"},
      {"aten.mul.Tensor(NUMBER, %x)", "mul"},
      {"aten.div.Tensor_mode(NUMBER, %x, rounding_mode = \"floor\")", "floor"},
      {"aten.maximum.default(NUMBER, %x)", "maximum"},
      {"aten.lt.Tensor(NUMBER, %x)", "lt"}};
  const auto expected = [](const std::string& name, const at::Scalar& number,
                           const at::Tensor& x) -> at::Tensor {
    const at::Tensor n = at::native::wrapped_scalar_tensor(number);
    if (name == "sub") return at::sub(n, x);
    if (name == "sub2") return at::sub(n, x, 2);
    if (name == "div") return at::div(n, x);
    if (name == "mul") return at::mul(n, x);
    if (name == "floor") return at::div(n, x, "floor");
    if (name == "maximum") return at::maximum(n, x);
    return at::lt(n, x);
  };
  const std::pair<const char*, at::Scalar> kNumbers[] = {{"1", 1}, {"0.1", 0.1}};
  for (const auto& [call, name] : kCalls) {
    for (const auto& [text, number] : kNumbers) {
      for (const auto dtype : {torch::kFloat, torch::kDouble, torch::kHalf, torch::kLong}) {
        for (const torch::Tensor& x : {Range({5}) * 3 + 7, Range({1})[0] + 3}) {
          const torch::Tensor given = x.to(dtype);
          SCOPED_TRACE(absl::StrCat(call, " ", text, " ", c10::toString(dtype)));
          EXPECT_TRUE(Same(RunText(absl::StrCat("graph @forward(%x) {\n  %y = ",
                                                absl::StrReplaceAll(call, {{"NUMBER", text}}),
                                                "\n  return %y\n}\n"),
                                   {given}),
                           expected(name, number, given)));
        }
      }
    }
  }
}

// TorchScript's own overload for a number and a given tensor wants the result's dtype.
TEST(ExporterTest, NumbersBesideGivenTensors) {
  const std::pair<const char*, const char*> kCalls[] = {
      {"aten.add.out(%x, NUMBER, out = %o)", "add"},
      {"aten.sub.out(%x, NUMBER, alpha = 2, out = %o)", "sub"},
      {"aten.mul.out(%x, NUMBER, out = %o)", "mul"},
      {"aten.div.out(%x, NUMBER, out = %o)", "div"},
      {"aten.floor_divide.out(%x, NUMBER, out = %o)", "floor_divide"}};
  const auto expected = [](const std::string& name, const at::Scalar& number, const at::Tensor& x,
                           at::Tensor o) -> at::Tensor {
    const at::Tensor n = at::native::wrapped_scalar_tensor(number);
    if (name == "add") return at::add_out(o, x, n);
    if (name == "sub") return at::sub_out(o, x, n, 2);
    if (name == "mul") return at::mul_out(o, x, n);
    if (name == "div") return at::div_out(o, x, n);
    return at::floor_divide_out(o, x, n);
  };
  const std::pair<const char*, at::Scalar> kNumbers[] = {{"2", 2}, {"0.1", 0.1}};
  for (const auto& [call, name] : kCalls) {
    for (const auto& [text, number] : kNumbers) {
      for (const auto from : {torch::kFloat, torch::kDouble, torch::kLong}) {
        for (const auto to : {torch::kFloat, torch::kDouble}) {
          SCOPED_TRACE(
              absl::StrCat(call, " ", text, " ", c10::toString(from), " to ", c10::toString(to)));
          const torch::Tensor x = (Range({5}) * 3 + 7).to(from);
          const torch::Tensor given = torch::zeros({5}, to);
          EXPECT_TRUE(Same(RunText(absl::StrCat("graph @forward(%x, %o) {\n  %y = ",
                                                absl::StrReplaceAll(call, {{"NUMBER", text}}),
                                                "\n  return %y\n}\n"),
                                   {x, given}),
                           expected(name, number, x, torch::zeros({5}, to))));
        }
      }
    }
  }
}

// A number out of a tensor is a size wherever TorchScript wants an int.
TEST(ExporterTest, NumbersOfTensorsAsSizes) {
  const auto expected = [](const std::string& call, int64_t n) -> at::Tensor {
    if (call == "zeros" || call == "new_zeros") return at::zeros({n, 2});
    if (call == "full") return at::full({n}, 1.5);
    if (call == "arange") return at::arange(n);
    if (call == "between") return at::arange(1, n);
    if (call == "expand") return at::ones({1}).expand({n});
    if (call == "slice") return at::arange(9).slice(0, 0, n);
    if (call == "repeat") return at::arange(2).repeat({n});
    if (call == "roll") return at::arange(9).roll(n);
    return at::zeros({n + 1});
  };
  const std::pair<const char*, const char*> kCalls[] = {
      {"zeros", "%y = aten.zeros.default([%n, 2])"},
      {"new_zeros", "%y = aten.new_zeros.default(%f, [%n, 2])"},
      {"full", "%y = aten.full.default([%n], 1.5)"},
      {"arange", "%y = aten.arange.default(%n)"},
      {"between", "%y = aten.arange.start(1, %n)"},
      {"expand", "%o = aten.ones.default([1])\n  %y = aten.expand.default(%o, [%n])"},
      {"slice", "%o = aten.arange.default(9)\n  %y = aten.slice.Tensor(%o, 0, 0, %n)"},
      {"repeat", "%o = aten.arange.default(2)\n  %y = aten.repeat.default(%o, [%n])"},
      {"roll", "%o = aten.arange.default(9)\n  %y = aten.roll.default(%o, [%n])"},
      {"more", "%m = operator.add(%n, 1)\n  %y = aten.zeros.default([%m])"}};
  for (const auto& [name, call] : kCalls) {
    for (const char* item :
         {"aten.item.default(%i)", "aten._local_scalar_dense.default(%i)", ".item(%i)"}) {
      SCOPED_TRACE(absl::StrCat(name, " ", item));
      const IValue found =
          RunText(absl::StrCat("graph @forward(%i : i64[], %f : f32[1]) {\n  %n = ", item, "\n  ",
                               call, "\n  return %y\n}\n"),
                  {torch::tensor(3), torch::ones({1})});
      EXPECT_TRUE(Same(found, expected(name, 3)));
    }
  }
}

TEST(ExporterTest, Raising) {
  CheckRoundTrip(Compile(R"(
def forward(self, x):
    assert x.dim() == 2, "want 2, got {}".format(x.dim())
    print(x.dim())
    return x
)"),
                 {{Range({2, 2})}, {Range({2})}});
}

TEST(ExporterTest, ForLoops) {
  CheckRoundTrip(Compile(R"(
def forward(self, x, n: int):
    total = 0
    for i in range(n):
        for j in range(i):
            x = x + i
            total += j
    for k in range(3):
        x = x * 2
    return x, total
)"),
                 {{Range({2}), 4}, {Range({2}), 0}});
}

TEST(ExporterTest, WhileLoops) {
  CheckRoundTrip(Compile(R"(
def forward(self, x, n: int):
    while n > 0:
        x, n = x * n, n - 1
    best: Optional[Tensor] = None
    while x.sum() < 100.:
        if best is None:
            best = x
        else:
            best = torch.max(best, x)
        x = x + 10
    return x, best
)"),
                 {{Range({2}), 3}, {Range({2}) + 1000, 0}});
}

TEST(ExporterTest, BreakAndContinue) {
  CheckSameResults(Compile(R"(
def forward(self, x, n: int):
    for i in range(n):
        if i == 1:
            continue
        if i > 3:
            break
        x = x + i
    return x, n
)"),
                   {{Range({2}), 0}, {Range({2}), 3}, {Range({2}), 9}});
}

TEST(ExporterTest, Lists) {
  CheckSameResults(Compile(R"(
def forward(self, x, n: int):
    empty: List[int] = []
    parts = [x]
    sizes = x.size()
    for i in range(n):
        parts.append(x * i)
        empty.append(i * sizes[0])
    parts[0] = parts[-1]
    nested = [[1], empty]
    nested[0].append(2)
    empty.sort(reverse=True)
    a, b = torch.chunk(x, 2)
    unknown: List[Optional[Tensor]] = [None, x.to(4)]
    more = [x, x] + parts
    return torch.cat(parts[1:]), empty, nested, a, b, parts[0][0], more, len(parts), unknown
)"),
                   {{Range({2, 2}), 3}});
}

TEST(ExporterTest, Dicts) {
  CheckRoundTrip(Compile(R"(
def forward(self, x, k: str, n: int):
    a = {"x": x}
    a["y"] = a["x"] * 2
    b = {k: x, "z": x + 1}
    c: Dict[int, int] = {}
    for i in range(n):
        c[i] = i * i
    total = 0
    for key in c:
        total += c[key]
    return a, b[k], c, "z" in b, total
)"),
                 {{Range({2}), "key", 3}});
}

TEST(ExporterTest, Tuples) {
  CheckRoundTrip(
      Compile(R"(
def forward(self, t: Tuple[int, Tensor, Tuple[float, str]], p: bool):
    u = t if p else (1, t[1], (2.0, "b"))
    n, x, (f, s) = u
    return u[-1], u[:2], n, x, f, s
)"),
      {{Tuple({IValue(1), IValue(Range({2})), Tuple({IValue(0.5), IValue("a")})}), true}});
}

TEST(ExporterTest, InPlace) {
  CheckRoundTrip(Compile(R"(
def forward(self, x, m):
    y = x.view(-1)
    y.add_(1)
    x[0] = 7
    x[:, 1:] = x[:, :1] * 2
    x[m] = -1.0
    z = x.clone()
    z += x
    z.relu_()
    return z, y
)"),
                 {{Range({3, 3}), Range({3, 3}) > 1}});
}

TEST(ExporterTest, TypesKnownWhenRun) {
  CheckRoundTrip(Compile(R"(
def forward(self, x, u: Union[int, str], s: float):
    n = 0
    if isinstance(u, int):
        n = u
    values: List[List[float]] = x.tolist()
    return n, values, x.item() if x.numel() == 1 else s, int(s), float(n), str(n), bool(n)
)"),
                 {{Range({2, 2}), 3, 1.5}, {Range({1, 1}), "a", 2.5}});
}

TEST(ExporterTest, InputsMayBeLeftOut) {
  const absl::StatusOr<Sample> sample = ImportTorchScriptMethod(Compile(R"(
def forward(self, x, m: Optional[Tensor] = None, n: int = 3, s: float = 0.5, p: bool = True):
    return x * n + s, m, p
)"),
                                                                "forward");
  ASSERT_OK(sample);
  torch::jit::Module saved = Saved(*sample);
  EXPECT_TRUE(Same(saved.forward({Range({2})}),
                   Tuple({IValue(Range({2}) * 3 + 0.5), IValue(), IValue(true)})));
  EXPECT_EQ(saved.get_method("forward").function().getSchema().arguments()[1].name(), "x");
}

TEST(ExporterTest, Attributes) {
  torch::jit::Module root("Root"), layers("Layers"), layer("Layer"), self("Self");
  self.register_parameter("weight", Range({2, 2}), false);
  self.register_buffer("steps", torch::tensor(3));
  self.register_attribute("bias", c10::OptionalType::ofTensor(), IValue());
  self.define(
      "def forward(self, x):\n    self.steps.add_(1)\n"
      "    return torch.linear(x, self.weight, self.bias) * self.steps\n");
  layer.register_module("self", self);
  layer.define("def forward(self, x):\n    return self.self.forward(x)\n");
  layers.register_module("0", layer);
  layers.register_parameter("1", torch::ones({2}, torch::kLong), false);
  layers.define(R"(
def forward(self, x):
    return getattr(self, "0").forward(x) + getattr(self, "1")
)");
  root.register_module("layers", layers);
  root.register_attribute("scales", c10::ListType::ofTensors(),
                          c10::List<torch::Tensor>({Range({2}), Range({1})}));
  root.define(R"(
def forward(self, x):
    a, b = self.scales
    return self.layers.forward(x) * a - b
)");
  const Stack inputs = {Range({2})};
  CheckSameResults(root, {inputs, inputs});  // The buffer keeps its count between runs.

  const absl::StatusOr<Sample> sample = ImportTorchScriptMethod(root, "forward");
  ASSERT_OK(sample);
  const torch::jit::Module saved = Saved(*sample);
  std::vector<std::string> parameters, buffers;
  for (const auto& parameter : saved.named_parameters()) parameters.push_back(parameter.name);
  for (const auto& buffer : saved.named_buffers()) buffers.push_back(buffer.name);
  EXPECT_THAT(parameters, testing::UnorderedElementsAre("layers.0.self.weight", "layers.1"));
  EXPECT_THAT(buffers,
              testing::UnorderedElementsAre("layers.0.self.steps", "scales.0", "scales.1"));
  EXPECT_TRUE(saved.attr("layers")
                  .toModule()
                  .attr("0")
                  .toModule()
                  .attr("self")
                  .toModule()
                  .attr("weight")
                  .toTensor()
                  .requires_grad());
}

TEST(ExporterTest, AttributesThatChange) {
  torch::jit::Module module("M"), child("Child");
  module.register_attribute("count", c10::IntType::get(), 5);
  module.register_attribute("seen", c10::ListType::ofInts(), std::vector<int64_t>{1});
  c10::Dict<std::string, torch::Tensor> cache;
  cache.insert("first", Range({2}));
  module.register_attribute(
      "cache", c10::DictType::create(c10::StringType::get(), c10::TensorType::get()), cache);
  module.register_attribute("maybe", c10::OptionalType::create(c10::IntType::get()), IValue());
  child.register_buffer("last", torch::zeros({2}));
  child.define("def forward(self, x):\n    old = self.last\n    self.last = x\n    return old\n");
  module.register_module("child", child);
  module.define(R"(
def forward(self, x, p: bool):
    self.count += 1
    self.seen.append(self.count)
    if p:
        self.cache["next"] = self.cache["first"] + x
        self.maybe = self.count
    return self.child.forward(x), self.seen, self.cache, self.maybe
)");
  // The graph has the initial state. The state persists between runs.
  CheckSameGraph(module);
  CheckSameResults(module, {{Range({2}), false}, {Range({2}), true}, {Range({2}), false}});
}

}  // namespace
}  // namespace graphnet
