// Exports programs from TorchScript or the text form to a module in memory, and saves
// and loads it. All three must compute the same.
#include "graphnet/formats/torchscript/exporter.h"

#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "ATen/ScalarOps.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "graphnet/formats/torchscript/archive_check.h"
#include "graphnet/formats/torchscript/exporter_module.h"
#include "graphnet/formats/torchscript/import_graph.h"
#include "graphnet/formats/torchscript/importer.h"
#include "graphnet/ir/canonical_hash.h"
#include "graphnet/ir/sample.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ir/text/printer.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "torch/script.h"

namespace graphnet {
namespace {

using c10::IValue;
using testing::AllOf;
using testing::HasSubstr;
using torch::jit::Stack;

// Returns whether types and values are equal; tensors and floats to the bit.
bool Same(const IValue& a, const IValue& b) {
  if (a.isTensor() && b.isTensor()) {
    const torch::Tensor x = a.toTensor().detach().contiguous();
    const torch::Tensor y = b.toTensor().detach().contiguous();
    return x.scalar_type() == y.scalar_type() && x.sizes() == y.sizes() &&
           std::memcmp(x.const_data_ptr(), y.const_data_ptr(), x.nbytes()) == 0;
  }
  if (a.isDouble() && b.isDouble()) {
    const double x = a.toDouble(), y = b.toDouble();
    return std::memcmp(&x, &y, sizeof x) == 0;
  }
  std::vector<IValue> x, y;
  if (a.isTuple() && b.isTuple()) {
    x = a.toTupleRef().elements().vec();
    y = b.toTupleRef().elements().vec();
  } else if (a.isList() && b.isList()) {
    x = a.toListRef().vec();
    y = b.toListRef().vec();
  } else if (a.isGenericDict() && b.isGenericDict()) {
    for (const auto& entry : a.toGenericDict()) x.insert(x.end(), {entry.key(), entry.value()});
    for (const auto& entry : b.toGenericDict()) y.insert(y.end(), {entry.key(), entry.value()});
  } else {
    return a == b;
  }
  if (x.size() != y.size()) return false;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!Same(x[i], y[i])) return false;
  }
  return true;
}

IValue Tuple(std::vector<IValue> elements) {
  return c10::ivalue::Tuple::create(std::move(elements));
}

torch::jit::Module Saved(const Sample& sample) {
  const absl::StatusOr<std::string> bytes = ExportTorchScriptToString(sample);
  EXPECT_OK(bytes);
  if (!bytes.ok()) return torch::jit::Module("None");
  EXPECT_OK(CheckTorchScriptArchive(*bytes, "test.pt"));
  std::istringstream in(*bytes);
  return torch::jit::load(in);
}

std::string Text(const Sample& sample) {
  return PrintModule(*sample.module, {.header = false, .locations = false});
}

// Returns a program's result and its inputs afterwards; "raises …" if it raises.
IValue Run(torch::jit::Module module, const Stack& inputs) {
  Stack copy;
  for (const IValue& input : inputs) copy.push_back(input.deepcopy());
  const Stack given = copy;
  try {
    const IValue result = module.forward(copy);
    Stack all = {result};
    all.insert(all.end(), given.begin(), given.end());
    return Tuple(std::move(all));
  } catch (const std::exception& e) {
    const std::string what = e.what();
    const size_t at = what.find("RuntimeError: ");
    return absl::StrCat("raises ", at == std::string::npos ? "" : what.substr(at));
  }
}

// Runs `module` and its exported forms on each of the inputs, in turn.
void CheckSameResults(const torch::jit::Module& module, const std::vector<Stack>& runs) {
  const absl::StatusOr<Sample> sample = ImportTorchScriptMethod(module, "forward");
  ASSERT_OK(sample);
  const absl::StatusOr<torch::jit::Module> exported = MakeTorchScriptModule(*sample);
  ASSERT_OK(exported) << Text(*sample);
  const torch::jit::Module saved = Saved(*sample);
  for (const Stack& inputs : runs) {
    const IValue expected = Run(module, inputs);
    const IValue from_memory = Run(*exported, inputs);
    const IValue from_file = Run(saved, inputs);
    EXPECT_TRUE(Same(expected, from_memory)) << expected << "\n" << from_memory << Text(*sample);
    EXPECT_TRUE(Same(expected, from_file)) << expected << "\n" << from_file << Text(*sample);
  }
}

// Like CheckSameResults, and the graph comes back unchanged.
void CheckRoundTrip(const torch::jit::Module& module, const std::vector<Stack>& runs) {
  CheckSameResults(module, runs);
  const absl::StatusOr<Sample> sample = ImportTorchScriptMethod(module, "forward");
  ASSERT_OK(sample);
  const absl::StatusOr<Sample> again = ImportTorchScriptMethod(Saved(*sample), "forward");
  ASSERT_OK(again);
  EXPECT_EQ(CanonicalHash(*sample->module), CanonicalHash(*again->module))
      << Text(*sample) << Text(*again);
}

torch::jit::Module Compile(const std::string& source) {
  torch::jit::Module module("M");
  module.define(source);
  return module;
}

Sample Parse(const std::string& text) {
  absl::StatusOr<Sample> sample = ParseSample(text, "test.gn");
  EXPECT_OK(sample);
  return sample.ok() ? *std::move(sample) : Sample{.module = std::make_unique<Module>()};
}

// Returns the result of the text's program, in memory and from a file.
IValue RunText(const std::string& text, const Stack& inputs) {
  const Sample sample = Parse(text);
  const absl::StatusOr<torch::jit::Module> exported = MakeTorchScriptModule(sample);
  EXPECT_OK(exported);
  if (!exported.ok()) return IValue();
  const IValue result = Run(*exported, inputs);
  const IValue from_file = Run(Saved(sample), inputs);
  EXPECT_TRUE(Same(result, from_file)) << result << "\n" << from_file;
  return result.isTuple() ? result.toTupleRef().elements()[0] : result;
}

absl::Status ErrorOf(const std::string& text) {
  return MakeTorchScriptModule(Parse(text)).status();
}

torch::Tensor Range(const std::vector<int64_t>& shape) {
  int64_t size = 1;
  for (const int64_t n : shape) size *= n;
  return torch::arange(size, torch::kFloat).reshape(shape) / 3 - 1;
}

// --- From TorchScript and back -----------------------------------------------

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
  const absl::StatusOr<Sample> sample = ImportTorchScriptMethod(module, "forward");
  ASSERT_OK(sample);
  const absl::StatusOr<Sample> again = ImportTorchScriptMethod(Saved(*sample), "forward");
  ASSERT_OK(again);
  EXPECT_EQ(CanonicalHash(*sample->module), CanonicalHash(*again->module))
      << Text(*sample) << Text(*again);
  CheckSameResults(module, {{Range({2}), false}, {Range({2}), true}, {Range({2}), false}});
}

// --- From the text form ------------------------------------------------------

TEST(ExporterTest, GraphsLoweredToAten) {
  const torch::Tensor x = Range({1, 2, 4, 4}), w = Range({2, 2, 3, 3});
  const torch::Tensor y = (torch::conv2d(x, w, {}, 1, 1) + 2) * 0.5;
  const auto [values, indices] = torch::max(y, 1);
  EXPECT_TRUE(
      Same(RunText(R"(
graph @forward(%x, %w, %n, %s as torch.SymInt) {
  %conv = torch.ops.aten.conv2d.default(%x, %w, None, (1, 1), padding = (1, 1))
  %add = aten.add.Tensor(%conv, 2)
  %mul = torch.ops.aten.mul.Tensor(%add, 0.5)
  %drop = aten.dropout.default(%mul, 0, False)
  %max = aten.max.dim(%drop, 1)
  %values = operator.getitem(%max, 0)
  %more = operator.add(%s, 1)
  %size = operator.mul(%more, 2)
  %view = aten.view.default(%values, [%n, %size])
  %sum = aten.sum.dim_IntList(%view, (0,), keepdim = True, dtype = torch.float64)
  %split = aten.split.Tensor(%view, 1)
  %parts = operator.getitem(%split, slice(1, None, None))
  return (%sum, %max, %parts)
}
)",
                   {x, w, 2, 3}),
           Tuple({IValue(values.view({2, 8}).sum({0}, true, torch::kDouble)),
                  Tuple({IValue(values), IValue(indices)}),
                  IValue(c10::List<torch::Tensor>({values.view({2, 8})[1].unsqueeze(0)}))})));
}

TEST(ExporterTest, AnyWhileLoop) {
  // The test is a graph: neither a `for` nor a `while` of a carried value.
  const std::string text = R"(
graph @forward(%x, %n as int) {
  %w = torch.while_loop(@test, @body, (%n, %x), (%x,))
  %n_1 = operator.getitem(%w, 0)
  %x_1 = operator.getitem(%w, 1)
  return (%n_1, %x_1)
}
graph @test(%n as int, %y, %x) {
  %sum = aten.sum.default(%y)
  %lt = aten.lt.Scalar(%sum, 100)
  return %lt
}
graph @body(%n as int, %y, %x) {
  %more = operator.add(%n, 1)
  %next = aten.add.Tensor(%y, %x)
  return (%more, %next)
}
)";
  EXPECT_TRUE(Same(RunText(text, {torch::full({2}, 20.), 0}),
                   Tuple({IValue(2), IValue(torch::full({2}, 60.))})));
  EXPECT_TRUE(Same(RunText(text, {torch::full({2}, 200.), 0}),
                   Tuple({IValue(0), IValue(torch::full({2}, 200.))})));
}

TEST(ExporterTest, LoopsThatLookLikeOthers) {
  // The limit changes, the index is used after the loop, or it starts at 1. These
  // loops cannot be `for … in range(…)`.
  const auto loop = [](const std::string& start, const std::string& limit,
                       const std::string& result) {
    return absl::StrCat(R"(
graph @forward(%n as int) {
  %w = torch.while_loop(@test, @body, ()",
                        start, R"(, 0, %n), (%n,))
  %r = operator.getitem(%w, )",
                        result, R"()
  return %r
}
graph @test(%i as int, %s as int, %m as int, %n as int) {
  %lt = operator.lt(%i, %)",
                        limit, R"()
  return %lt
}
graph @body(%i as int, %s as int, %m as int, %n as int) {
  %next = operator.add(%i, 1)
  %sum = operator.add(%s, %i)
  %less = operator.sub(%m, 1)
  return (%next, %sum, %less)
}
)");
  };
  EXPECT_EQ(RunText(loop("0", "n", "1"), {6}), 15);
  EXPECT_EQ(RunText(loop("0", "m", "1"), {6}), 3);
  EXPECT_EQ(RunText(loop("0", "n", "0"), {6}), 6);
  EXPECT_EQ(RunText(loop("1", "n", "1"), {6}), 15);
  EXPECT_EQ(RunText(loop("1", "n", "2"), {6}), 1);
}

TEST(ExporterTest, CarriedTypesGrow) {
  EXPECT_TRUE(Same(RunText(R"(
graph @forward(%x, %n as int) {
  %w = torch.while_loop(@test, @body, (0, None, []), (%x, %n))
  %last = operator.getitem(%w, 1)
  %all = operator.getitem(%w, 2)
  return (%last, %all)
}
graph @test(%i, %last, %all as "List[int]", %x, %n) {
  %lt = operator.lt(%i, %n)
  return %lt
}
graph @body(%i, %last, %all as "List[int]", %x, %n) {
  %next = operator.add(%i, 1)
  %y = aten.add.Scalar(%x, %i)
  %more = operator.add(%all, [%i])
  return (%next, %y, %more)
}
)",
                           {Range({2}), 3}),
                   Tuple({IValue(Range({2}) + 2), IValue(c10::List<int64_t>({0, 1, 2}))})));
}

TEST(ExporterTest, BranchesAsTorchExportWritesThem) {
  const std::string text = R"(
graph @forward(%x) {
  %sum = aten.sum.default(%x)
  %gt = aten.gt.Scalar(%sum, 0)
  %a = torch.ops.higher_order.cond(%gt, @double, @negative, [%x])
  %b = torch.cond(%gt, @double, @double, (%x,))
  %c = operator.getitem(%a, 0)
  %d = operator.getitem(%b, 0)
  return (%c, %d)
}
graph @double(%x) {
  %y = aten.mul.Scalar(%x, 2)
  return (%y,)
}
graph @negative(%x) {
  %y = aten.neg.default(%x)
  return (%y,)
}
)";
  for (const double value : {1., -1.}) {
    const torch::Tensor x = torch::full({2}, value);
    EXPECT_TRUE(Same(RunText(text, {x}), Tuple({IValue(value > 0 ? x * 2 : -x), IValue(x * 2)})));
  }
}

TEST(ExporterTest, Objects) {
  const std::string text = R"(
graph @forward(%x, %p as bool) {
  %point = prim.CreateObject("__torch__.some.Point")
  %a = prim.SetAttr(%point, "x", %x)
  %b = prim.SetAttr(%point, "y", None)
  %c = torch.cond(%p, @true, @false, (%point, %x))
  %u = prim.GetAttr(%point, "x")
  %v = prim.GetAttr(%point, "y")
  return (%u, %v)
}
graph @true(%point as "__torch__.some.Point", %x) {
  %u = prim.GetAttr(%point, "x")
  %y = aten.neg.default(%u)
  %s = prim.SetAttr(%point, "y", %y)
  return ()
}
graph @false(%point as "__torch__.some.Point", %x) {
  return ()
}
)";
  const IValue x(Range({2}));
  EXPECT_TRUE(Same(RunText(text, {x, true}), Tuple({x, IValue(-Range({2}))})));
  EXPECT_TRUE(Same(RunText(text, {x, false}), Tuple({x, IValue()})));
}

TEST(ExporterTest, TheOverloadIsTheOneAskedFor) {
  // If several operators accept the operands, TorchScript would read the first.
  const std::string text = R"(
graph @forward(%x) {
  %y = aten.upsample_bilinear2d.vec(%x, [4, 4], False, None)
  return %y
}
)";
  RunText(text, {Range({1, 1, 2, 2})});
  const absl::StatusOr<Sample> again = ImportTorchScriptMethod(Saved(Parse(text)), "forward");
  ASSERT_OK(again);
  EXPECT_THAT(Text(*again), HasSubstr("aten.upsample_bilinear2d.vec(%x, [4, 4], False, None)"));
}

TEST(ExporterTest, NamesThatAreNoIdentifiers) {
  // They must not get into the code of the archive.
  Sample sample = Parse(R"(
attribute "a\"] = Tensor\n  x" : f32[1]
attribute a.b : f32[1]
attribute a : f32[1]
attribute a.b.c : f32[1]
attribute forward.in : f32[1]
attribute ".." : f32[1]
graph @forward(%torch "torch", %a_b "a b", %c "a_b", %self "self", %"x\n" "x\n") {
  %1 = get_attr "a\"] = Tensor\n  x"
  %2 = get_attr a.b
  %3 = get_attr a
  %4 = get_attr a.b.c
  %5 = get_attr forward.in
  %6 = get_attr ".."
  %print = aten.add.Tensor(%torch, %a_b)
  %in = aten.add.Tensor(%c, %self)
  %"a.b[]" = aten.add.Tensor(%in, %"x\n")
  return ([%1, %2, %3, %4, %5, %6], %print, %"a.b[]")
}
)");
  c10::List<torch::Tensor> values;
  for (const Attribute& attribute : sample.module->attributes()) {
    const float value = static_cast<float>(values.size());
    values.push_back(torch::tensor({value}));
    sample.weights[std::string(attribute.name)] = {
        .dtype = DType::kFloat32,
        .shape = {1},
        .bytes = std::make_shared<const std::string>(reinterpret_cast<const char*>(&value), 4)};
  }
  torch::jit::Module saved = Saved(sample);
  const auto result = saved.forward({Range({2}), Range({2}), Range({2}), Range({2}), Range({2})});
  EXPECT_TRUE(
      Same(result, Tuple({IValue(values), IValue(Range({2}) * 2), IValue(Range({2}) * 3)})));
}

// Each name that can be written is kept, and no input has the name of an attribute.
TEST(ExporterTest, NamesOfInputsAndAttributesDiffer) {
  const struct {
    std::string inputs, attributes, expected, note;
  } kCases[] = {
      {"%int", "int_", "int__1 int_", "input int is int__1"},
      {"%a \"x y\"", "x_y", "x_y_1 x_y", "input x y is x_y_1"},
      {"%x_y", "\"x y\"", "x_y x_y_1", "weight x y is x_y_1"},
      {"%a \"x y\", %x_y", "x_y_1", "x_y_2 x_y x_y_1", "input x y is x_y_2"},
      {"%x", "\"a b\" a_b", "x a_b_1 a_b", "weight a b is a_b_1"},
      {"%x", "class.w", "x class_w", "weight class.w is class_w"},
      {"%\"é\"", "\"ü\"", "___1 __", "input é is ___1, weight ü is __"},
      {"%float, %self", "w", "float_ self_ w", "input float is float_, input self is self_"},
      {"%x, %y", "a.b", "x y a.b", ""},
  };
  for (const auto& [inputs, attributes, expected, note] : kCases) {
    std::string text;
    const float value = 1;
    std::map<std::string, TensorData> weights;
    const std::vector<std::string> names = absl::StrContains(attributes, "a_b")
                                               ? std::vector<std::string>{"\"a b\"", "a_b"}
                                               : std::vector<std::string>{attributes};
    for (const std::string& name : names) {
      absl::StrAppend(&text, "attribute ", name, " : f32[1]\n");
      weights[absl::StrReplaceAll(name, {{"\"", ""}})] = {
          .dtype = DType::kFloat32,
          .shape = {1},
          .bytes = std::make_shared<const std::string>(reinterpret_cast<const char*>(&value), 4)};
    }
    absl::StrAppend(&text, "graph @forward(", inputs, ") {\n");
    std::string returned;
    for (size_t i = 0; i < names.size(); ++i) {
      absl::StrAppend(&text, "  %v", i, " = get_attr ", names[i], "\n");
      absl::StrAppend(&returned, i == 0 ? "" : ", ", "%v", i);
    }
    absl::StrAppend(&text, "  return (", returned, ",)\n}\n");
    Sample sample = Parse(text);
    sample.weights = weights;
    std::vector<std::string> notes;
    const absl::StatusOr<std::string> bytes = ExportTorchScriptToString(sample, &notes);
    ASSERT_OK(bytes) << text;
    const absl::StatusOr<Sample> again = ImportTorchScript(*bytes, "m.pt");
    ASSERT_OK(again) << text;
    std::vector<std::string> found;
    for (const Node* input : again->module->main()->placeholders())
      found.emplace_back(input->target());
    for (const Attribute& attribute : again->module->attributes())
      found.emplace_back(attribute.name);
    EXPECT_EQ(absl::StrJoin(found, " "), expected) << text;
    EXPECT_EQ(absl::StrJoin(notes, "\n"),
              note.empty() ? "" : absl::StrCat("renamed for TorchScript: ", note));
  }
}

TEST(ExporterTest, Files) {
  const std::string path = testing::TempDir() + "/exported.pt";
  Sample sample = Parse(R"(
attribute block.0.w : f32[2] as torch.nn.parameter.Parameter
graph @forward(%x) {
  %w = get_attr block.0.w
  %y = aten.mul.Tensor(%x, %w)
  return %y
}
)");
  const torch::Tensor w = Range({2});
  sample.weights["block.0.w"] = {
      .dtype = DType::kFloat32,
      .shape = {2},
      .bytes = std::make_shared<const std::string>(static_cast<const char*>(w.data_ptr()), 8)};
  ASSERT_OK(ExportTorchScript(sample, path));
  // The archive passes the check.
  const absl::StatusOr<Sample> again = ImportTorchScriptFile(path);
  ASSERT_OK(again);
  EXPECT_EQ(CanonicalHash(*again->module), CanonicalHash(*sample.module));
  EXPECT_EQ(*again->weights.at("block.0.w").bytes, *sample.weights.at("block.0.w").bytes);
  EXPECT_EQ(again->module->FindAttribute("block.0.w")->annotation, "torch.nn.parameter.Parameter");

  // A failed export leaves the file unchanged.
  sample.weights.clear();
  EXPECT_THAT(ExportTorchScript(sample, path),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "cannot export %w = block.0.w: the value of the attribute is not known"));
  EXPECT_OK(ImportTorchScriptFile(path));
  std::filesystem::remove(path);
}

TEST(ExporterTest, GraphsAsPythonWritesThem) {
  const torch::Tensor x = Range({2, 3, 4}), i = torch::tensor({1, 0, 1});
  using torch::indexing::Ellipsis, torch::indexing::None, torch::indexing::Slice;
  torch::Tensor y = torch::relu(x).add(1);
  y.index_put_({0, Slice(1, None)}, 5);
  y.index_put_({Ellipsis, 0}, x.index({Ellipsis, 1}));
  y.index_put_({i}, 7);
  EXPECT_TRUE(Same(RunText(R"(
graph @forward(%x, %i : i64[3]) {
  %relu = torch.nn.functional.relu(%x)
  %y = .add(%relu, 1)
  %set = operator.setitem(%y, (0, slice(1, None, None)), 5)
  %column = operator.getitem(%x, (..., 1))
  %set_1 = operator.setitem(%y, (..., 0), %column)
  %set_2 = operator.setitem(%y, %i, 7)
  %a = operator.getitem(%y, (0, None, slice(None, 2, None)))
  %b = operator.getitem(%y, (..., None, slice(None, None, 2)))
  %c = operator.getitem(%y, (slice(None, None, None), %i, 0))
  %d = operator.getitem(%y, (None, 1, %i))
  %size = .size(%y, 0)
  %e = torch.tensor([%size, 3], dtype = torch.float64)
  return (%y, %a, %b, %c, %d, %e)
}
)",
                           {x, i}),
                   Tuple({IValue(y), IValue(y.index({0, None, Slice(None, 2)})),
                          IValue(y.index({Ellipsis, None, Slice(None, None, 2)})),
                          IValue(y.index({Slice(), i, 0})), IValue(y.index({None, 1, i})),
                          IValue(torch::tensor({2, 3}, torch::kDouble))})));
}

// torch.export leaves the last size of a range to its overload. Python reads shapes as a whole.
TEST(ExporterTest, RangesAndShapesAsPythonAsksForThem) {
  const torch::Tensor x = Range({2, 3, 4});
  EXPECT_TRUE(Same(RunText(R"(
graph @forward(%x) {
  %a = aten.arange.start_step(0, 7)
  %b = aten.arange.start_step(1, 9, 2)
  %c = aten.arange.start(2, 5)
  %d = aten.arange.default(3)
  %size = .size(%x)
  %n = operator.getitem(%size, 1)
  %shape = builtins.getattr(%x, "shape")
  %m = operator.getitem(%shape, -1)
  %product = operator.mul(%n, %m)
  %view = .view(%x, -1, %product)
  %same = .reshape(%view, %shape)
  %part = operator.getitem(%shape, slice(1, None, None))
  %zeros = torch.zeros(%part)
  return (%a, %b, %c, %d, %view, %same, %zeros)
}
)",
                           {x}),
                   Tuple({IValue(torch::arange(7)), IValue(torch::arange(1, 9, 2)),
                          IValue(torch::arange(2, 5)), IValue(torch::arange(3)),
                          IValue(x.view({-1, 12})), IValue(x), IValue(torch::zeros({3, 4}))})));
}

// --- Errors ------------------------------------------------------------------

TEST(ExporterTest, ErrorsNameTheNode) {
  const struct {
    const char* body;
    const char* message;
  } kCases[] = {
      {"%y = torch.nn.functional.interpolate(%x, 4) at \"model.py\":3:5",
       "model.py:3:5: cannot export %y = torch.nn.functional.interpolate: no ATen overload"},
      {"%y = operator.matmul(%x, %x)", "%y = operator.matmul: no ATen overload"},
      {"%y = aten.nonsense.default(%x)", "LibTorch has no operator aten::nonsense"},
      {"%y = aten.add.Nonsense(%x)", "LibTorch's aten::add has no overload Nonsense"},
      {"%y = aten.add.Tensor(%x, \"a\")",
       "Expected a value of type 'Tensor' for argument 'other' but instead found type 'str'"},
      {"%y = aten.relu.default(%x, %x)", "Expected at most 1 arguments but found 2 positional"},
      {"%y = aten.relu.default(%x, far = 1)", "Keyword argument far unknown"},
      {"%y = aten.relu.default()", "Argument self not provided"},
      {"%y = aten.pow.int_to_int(2, 3)", "with these operands TorchScript takes aten::pow.int"},
      {"%y = aten.view.dtype(%x, torch.int32)", "TorchScript never takes this overload"},
      {"%y = aten.cat.default([%x, 1])", "a value of type int where Tensor is needed"},
      {"%y = operator.getitem(%x, True)", "a bool cannot be an index"},
      {"%y = operator.getitem(%x, (..., %x))", "a tensor index after an ellipsis"},
      {"%y = operator.getitem(%x, (..., ...))", "a second ellipsis"},
      {"%y = operator.getitem(%x, (%x, 0))", "a tensor that may be a mask of several dimensions"},
      {"%y = operator.getitem((%x, 1), 2)", "the index is out of bounds"},
      {"%y = aten.view.default(%x, [sym(S0)])", "a symbolic size"},
      {"%y = prim.FusionGroup(%x)", "an operation that only LibTorch itself makes"},
      {"%y = prim.ListConstruct()", "the type of its elements is not known"},
      {"%y = prim.ListConstruct(1) as \"List[Nonsense]\"",
       "TorchScript knows no type List[Nonsense]"},
      {"%y = prim.isinstance(%x, (\"[[[\",))", "TorchScript knows no type [[["},
      {"%o = prim.CreateObject(\"C\")\n  %y = prim.GetAttr(%o, \"a\")",
       "%y = prim.GetAttr: the attribute is read before it is assigned"},
      {"%y = torch.cond(%x, @one, @two, (%x,))",
       "%y = torch.cond: result 0 has type Tensor or int"},
      {"%y = torch.cond(%x, @one, @one, ())", "the body one takes 1 operands, not 0"},
      {"%y = torch.cond(\"a\", @one, @one, (%x,))", "the condition has type str"},
      {"%y = torch.while_loop(@test, @two, (%x,), ())",
       "it carries a value of type Tensor, and then one of type int"},
  };
  for (const auto& c : kCases) {
    const std::string text = absl::StrCat("symbol S0\ngraph @forward(%x) {\n  ", c.body, R"(
  return %y
}
)",
                                          absl::StrContains(c.body, "@one") ? R"(
graph @one(%x) {
  return (%x,)
}
)"
                                                                            : "",
                                          absl::StrContains(c.body, "@test") ? R"(
graph @test(%x) {
  return True
}
)"
                                                                             : "",
                                          absl::StrContains(c.body, "@two") ? R"(
graph @two(%x) {
  return (1,)
}
)"
                                                                            : "");
    EXPECT_THAT(ErrorOf(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                        AllOf(HasSubstr("cannot export %"), HasSubstr(c.message),
                                              testing::Not(HasSubstr("\n")))))
        << c.body;
  }
  EXPECT_THAT(ErrorOf("graph @forward(%x as Nonsense) {\n  return %x\n}\n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "cannot export %x = placeholder x: TorchScript knows no type Nonsense"));
}

TEST(ExporterTest, WrongWeights) {
  Sample sample = Parse(R"(
attribute w : f32[2]
graph @forward() {
  %w = get_attr w
  return %w
}
)");
  TensorData& data = sample.weights["w"];
  data = {
      .dtype = DType::kFloat32, .shape = {2}, .bytes = std::make_shared<const std::string>(7, 'a')};
  const auto fails_with = [&](const std::string& what) {
    return StatusIs(absl::StatusCode::kInvalidArgument, "cannot export attribute w: " + what);
  };
  EXPECT_THAT(MakeTorchScriptModule(sample).status(),
              fails_with("the number of bytes does not fit the shape"));
  data.shape = {int64_t{1} << 62, 4};
  EXPECT_THAT(MakeTorchScriptModule(sample).status(),
              fails_with("the number of bytes does not fit the shape"));
  data.shape = {-1, -7};
  EXPECT_THAT(MakeTorchScriptModule(sample).status(),
              fails_with("the number of bytes does not fit the shape"));
  data.dtype = DType::kUnknown;
  EXPECT_THAT(MakeTorchScriptModule(sample).status(), fails_with("a tensor of unknown"));
}

TEST(ExporterTest, Limits) {
  // Each body calls the next one twice.
  std::string text =
      "graph @forward(%x, %p as bool) {\n  %y = torch.cond(%p, @g0, @g0, (%x, %p))\n"
      "  return %y\n}\n";
  for (int i = 0; i < 20; ++i) {
    absl::StrAppend(&text, "graph @g", i, "(%x, %p) {\n");
    for (const char* result : {"a", "b"}) {
      absl::StrAppend(&text, "  %", result, " = torch.cond(%p, @g", i + 1, ", @g", i + 1,
                      ", (%x, %p))\n");
    }
    absl::StrAppend(&text, "  return (%a,)\n}\n");
  }
  absl::StrAppend(&text, "graph @g20(%x, %p) {\n  return (%x,)\n}\n");
  EXPECT_THAT(ErrorOf(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("operations with its bodies inlined")));

  // Each tuple holds the one before it twice.
  text = "graph @forward(%x, %p as bool) {\n  %y0 = aten.neg.default(%x)\n";
  for (int i = 1; i <= 40; ++i) {
    absl::StrAppend(&text, "  %c", i, " = torch.cond(%p, @b", i, ", @b", i, ", (%y", i - 1,
                    ",))\n  %y", i, " = operator.getitem(%c", i, ", 0)\n");
  }
  absl::StrAppend(&text, "  return %y40\n}\n");
  for (int i = 1; i <= 40; ++i) {
    absl::StrAppend(&text, "graph @b", i, "(%x) {\n  return ((%x, %x),)\n}\n");
  }
  EXPECT_THAT(ErrorOf(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("the type of its value is too large")));

  // Each list holds the one before it. LibTorch compares their types recursively at each call.
  text = "graph @forward(%y0) {\n";
  for (int i = 1; i <= 100'000; ++i)
    absl::StrAppend(&text, "  %y", i, " = prim.ListConstruct(%y", i - 1, ")\n");
  EXPECT_THAT(ErrorOf(absl::StrCat(text, "  return %y0\n}\n")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the type of its value nests too deep")));

  const auto nested = [](int depth) {
    std::string out;
    for (int i = 0; i <= depth; ++i) {
      absl::StrAppend(&out, "graph @", i == 0 ? "forward" : absl::StrCat("g", i),
                      "(%x, %p as bool) {\n");
      if (i < depth) {
        absl::StrAppend(&out, "  %y = torch.cond(%p, @g", i + 1, ", @g", i + 1, ", (%x, %p))\n");
      }
      absl::StrAppend(&out, "  return ", i < depth ? "%y" : "%x", "\n}\n");
    }
    return out;
  };
  EXPECT_OK(ErrorOf(nested(200)));
  EXPECT_THAT(ErrorOf(nested(201)), StatusIs(absl::StatusCode::kFailedPrecondition,
                                             HasSubstr("bodies nest deeper than 200")));
}

}  // namespace
}  // namespace graphnet
