#include "graphnet/interp/builtins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "ATen/ATen.h"
#include "ATen/autocast_mode.h"
#include "ATen/core/grad_mode.h"
#include "graphnet/interp/executable.h"
#include "graphnet/ir/text/parser.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using at::Tensor;
using c10::IValue;
using interp::FindBuiltin;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;
using Args = std::vector<IValue>;

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

// --- Functions -------------------------------------------------------------------

IValue List(const std::vector<IValue>& elements, bool tuple = false) {
  if (tuple) return c10::ivalue::Tuple::create(elements);
  c10::impl::GenericList list(c10::AnyType::get());
  for (const IValue& e : elements) list.push_back(e);
  return list;
}

// Returns the type and value as text.
std::string Text(const IValue& value) {
  if (value.isTensor()) {
    const Tensor& t = value.toTensor();
    std::string out = std::string(c10::toString(t.scalar_type())) + "(";
    for (const int64_t size : t.sizes()) out += std::to_string(size) + ",";
    out += ')';
    for (int64_t i = 0; i < t.numel(); ++i) {
      out += " " + std::to_string(t.flatten()[i].item().toDouble());
    }
    return out;
  }
  if (value.isList() || value.isTuple()) {
    std::string out = value.isTuple() ? "(" : "[";
    if (value.isTuple()) {
      for (const IValue& e : value.toTupleRef().elements()) out += Text(e) + ",";
    } else {
      for (const IValue& e : value.toListRef()) out += Text(e) + ",";
    }
    return out + (value.isTuple() ? ")" : "]");
  }
  if (value.isDouble()) return "float " + std::to_string(value.toDouble());
  if (value.isInt()) return "int " + std::to_string(value.toInt());
  if (value.isBool()) return value.toBool() ? "True" : "False";
  if (value.isString()) return "'" + value.toStringRef() + "'";
  if (value.isNone()) return "None";
  return value.tagKind();
}

std::string Call(const std::string& name, Args args) {
  const interp::Builtin builtin = FindBuiltin(name);
  if (!builtin) return "none of that name";
  if (const absl::Status status = builtin.CheckNumArgs(args.size()); !status.ok()) {
    return std::string(status.message());
  }
  try {
    return Text(builtin(args, c10::kCPU));
  } catch (const c10::Error& error) {
    return std::string("error: ") + error.what_without_backtrace();
  }
}

const Tensor kInts = at::tensor({7, -7}, at::kLong);
const Tensor kReals = at::tensor({1.5f, -2.0f});

// The operators do what torch's do.
TEST(BuiltinsTest, OperatorsOnTensors) {
  using Function = std::function<Tensor(const Tensor&, const Tensor&)>;
  const std::pair<const char*, Function> cases[] = {
      {"add", [](auto& a, auto& b) { return a + b; }},
      {"sub", [](auto& a, auto& b) { return a - b; }},
      {"mul", [](auto& a, auto& b) { return a * b; }},
      {"truediv", [](auto& a, auto& b) { return a / b; }},
      {"floordiv", [](auto& a, auto& b) { return a.floor_divide(b); }},
      {"mod", [](auto& a, auto& b) { return a.remainder(b); }},
      {"pow", [](auto& a, auto& b) { return a.pow(b); }},
      {"lt", [](auto& a, auto& b) { return a < b; }},
      {"le", [](auto& a, auto& b) { return a <= b; }},
      {"gt", [](auto& a, auto& b) { return a > b; }},
      {"ge", [](auto& a, auto& b) { return a >= b; }},
      {"eq", [](auto& a, auto& b) { return a == b; }},
      {"ne", [](auto& a, auto& b) { return a != b; }},
  };
  // Numbers do not promote tensors of their kind.
  const auto wrapped = [](const at::Scalar& number) {
    Tensor tensor = at::scalar_tensor(number, number.isFloatingPoint() ? at::kDouble : at::kLong);
    tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
    return tensor;
  };
  const Tensor small = at::tensor({3, 2}, at::kShort);
  for (const auto& [name, fn] : cases) {
    const std::string op = std::string("operator.") + name;
    EXPECT_EQ(Call(op, {kReals, kInts}), Text(fn(kReals, kInts))) << op;
    EXPECT_EQ(Call(op, {small, 2}), Text(fn(small, wrapped(int64_t{2})))) << op;
    EXPECT_EQ(Call(op, {kReals, 2.0}), Text(fn(kReals, wrapped(2.0)))) << op;
    EXPECT_EQ(Call(op, {2.0, small}), Text(fn(wrapped(2.0), small))) << op;
  }
  EXPECT_EQ(Call("operator.and_", {kInts, 3}), "Long(2,) 3.000000 1.000000");
  EXPECT_EQ(Call("operator.or_", {kInts, 8}), "Long(2,) 15.000000 -7.000000");
  EXPECT_EQ(Call("operator.xor", {kInts, kInts}), "Long(2,) 0.000000 0.000000");
  EXPECT_EQ(Call("operator.lshift", {kInts, 1}), "Long(2,) 14.000000 -14.000000");
  EXPECT_EQ(Call("operator.rshift", {kInts, 1}), "Long(2,) 3.000000 -4.000000");
  EXPECT_EQ(Call("operator.neg", {kReals}), "Float(2,) -1.500000 2.000000");
  EXPECT_EQ(Call("operator.pos", {kReals}), "Float(2,) 1.500000 -2.000000");
  EXPECT_EQ(Call("operator.invert", {kInts}), "Long(2,) -8.000000 6.000000");
}

struct Case {
  const char* name;
  Args args;
  const char* expected;
};

void Check(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    EXPECT_THAT(Call(c.name, c.args), HasSubstr(c.expected)) << c.name << Text(List(c.args));
  }
}

TEST(BuiltinsTest, FunctionsRefuseNumbersThatFitNowhere) {
  const IValue none, row = at::ones({4}), image = at::ones({1, 2, 4, 4});
  const std::string interpolate = "torch.nn.functional.interpolate";
  const std::string norm = "torch.nn.functional.local_response_norm";
  Check(
      {{interpolate.c_str(), {row, none, 2.0, "nearest", none, none, false}, "error: expected an"},
       {interpolate.c_str(), {image, none, 1e30, "area", none, none, false}, "error: the result"},
       {norm.c_str(), {image, 0, 1.0, 1.0, 1.0}, "error: expected a size of 1 or more"},
       {norm.c_str(), {image, kMin, 1.0, 1.0, 1.0}, "error: expected a size of 1 or more"},
       {"torch.tensor", {1, 300, none}, "error: 300 is not a valid dtype"},
       {"torch.amp.autocast_mode._enter_autocast", {"cpu", 300}, "error: 300 is not a valid"}});
}

TEST(BuiltinsTest, AttentionWithoutHeads) {
  const IValue none, x = at::ones({3, 8});
  const auto heads = [&](int64_t number) {
    return Call("torch.nn.functional.multi_head_attention_forward",
                {x,    x,     x,    8,     number, at::ones({24, 8}),
                 none, none,  none, false, 0.0,    at::ones({8, 8}),
                 none, false, none, true,  none,   false,
                 none, none,  none, none,  none,   true,
                 false});
  };
  EXPECT_THAT(heads(0), HasSubstr("error: an embedding of 8 is not divisible by 0 heads"));
  EXPECT_THAT(heads(-2), HasSubstr("error: an embedding of 8 is not divisible by -2 heads"));
  EXPECT_THAT(heads(2), Not(HasSubstr("error")));
}

TEST(BuiltinsTest, Numbers) {
  Check({{"operator.floordiv", {-7, 2}, "int -4"},
         {"operator.mod", {-7.5, 2}, "float 0.500000"},
         {"operator.pow", {2, -1}, "float 0.500000"},
         {"operator.eq", {(int64_t{1} << 53) + 1, 0x1p53}, "False"},
         {"operator.index", {2.0}, "error: expected an int, got a float"},
         {"builtins.abs", {kMin}, "error: the result does not fit in an int64"},
         {"builtins.int", {0x1p63}, "error: the result does not fit in an int64"},
         {"builtins.int", {9.25e18}, "error: the result does not fit in an int64"},
         {"builtins.int", {-0x1p63}, "int -9223372036854775808"},
         {"builtins.int", {at::tensor(2.75)}, "int 2"},
         {"builtins.int", {kReals}, "error: a Tensor with 2 elements"},
         {"builtins.float", {at::tensor(3)}, "float 3.000000"},
         {"builtins.bool", {at::tensor(0.0)}, "False"},
         {"builtins.bool", {List({})}, "False"},
         {"builtins.round", {2.5}, "int 2"},
         {"builtins.round", {2.675, 2}, "float 2.670000"},
         {"builtins.round", {1250, -2}, "int 1200"},
         {"math.sqrt", {at::tensor(4.0f)}, "float 2.000000"},
         {"math.sqrt", {-1}, "error: math domain error"},
         {"math.floor", {"x"}, "error: expected a number, not String"},
         {"operator.add", {1, IValue()}, "error: takes numbers or tensors, not Int and None"},
         {"torch.sym_max", {3, 3.5}, "float 3.500000"},
         {"torch.sym_not", {0}, "True"},
         {"torch.sym_ite", {List({1}), 1, 2}, "int 1"},
         {"torch.sym_sum", {List({1, 2, 3})}, "int 6"}});
}

TEST(BuiltinsTest, SequencesAndStrings) {
  const IValue ab = List({1, 2}), tuple = List({1, 2.0}, true);
  Check({{"operator.add", {ab, List({3})}, "[int 1,int 2,int 3,]"},
         {"operator.add", {tuple, List({3}, true)}, "(int 1,float 2.000000,int 3,)"},
         {"operator.add", {"a", "b"}, "'ab'"},
         {"operator.mul", {ab, 2}, "[int 1,int 2,int 1,int 2,]"},
         {"operator.mul", {2, tuple}, "(int 1,float 2.000000,int 1,float 2.000000,)"},
         {"operator.mul", {ab, -1}, "[]"},
         {"operator.mul",
          {ab, int64_t{1} << 40},
          "error: a sequence of 2 elements 1099511627776 times"},
         {"operator.mul", {ab, ab}, "error"},
         {"operator.eq", {ab, tuple}, "True"},
         {"operator.ne", {ab, List({1})}, "True"},
         {"operator.eq", {"a", IValue()}, "False"},
         {"operator.lt", {"a", "b"}, "True"},
         {"operator.ge", {"a", "b"}, "False"},
         {"operator.lt", {"a", 1}, "error"},
         {"operator.contains", {tuple, 2}, "True"},
         {"operator.contains", {tuple, "2"}, "False"},
         {"operator.truth", {""}, "False"},
         {"operator.not_", {IValue()}, "True"},
         {"operator.is_", {IValue(), IValue()}, "True"},
         {"operator.is_not", {IValue(), 1}, "True"},
         {"builtins.len", {ab}, "int 2"},
         {"builtins.len", {kReals}, "int 2"},
         {"builtins.max", {List({1, 3.5, 2})}, "float 3.5"},
         {"builtins.min", {at::scalar_tensor(2, at::kLong), 2}, "Long() 2"},
         {"builtins.max", {List({})}, "error: min or max of an empty sequence"},
         {"math.prod", {List({2, 3, 0.5})}, "float 3.0"},
         {"math.prod",
          {List({int64_t{1} << 40, int64_t{1} << 40})},
          "error: the result does not fit"}});
}

TEST(BuiltinsTest, Tensors) {
  Check({{"builtins.getattr", {kReals, "shape"}, "[int 2,]"},
         {"builtins.getattr", {kReals, "ndim"}, "int 1"},
         {"builtins.getattr", {kReals, "itemsize"}, "int 4"},
         {"builtins.getattr", {kReals, "nbytes"}, "int 8"},
         {"builtins.getattr", {kReals, "is_cuda"}, "False"},
         {"builtins.getattr", {kReals, "grad_fn"}, "error: no attribute grad_fn"},
         {"torch.numel", {kReals}, "int 2"},
         {"torch.is_floating_point", {kInts}, "False"},
         {"Tensor.tolist", {kReals}, "[float 1.500000,float -2.000000,]"},
         {"torch.tensor", {List({1, 2}), IValue(), IValue()}, "Long(2,) 1.000000 2.000000"},
         {"torch.tensor", {List({1, 2.5}), IValue(), IValue()}, "Float(2,) 1.000000 2.500000"},
         {"torch.tensor", {List({true}), IValue(), IValue()}, "Bool(1,) 1.000000"},
         {"torch.tensor", {List({}), IValue(), IValue()}, "Float(0,)"},
         {"torch.tensor",
          {List({List({1}), List({at::scalar_tensor(0.5)})}), IValue(), IValue()},
          "Float(2,1,) 1.000000 0.500000"},
         {"torch.tensor", {List({List({1}), 2}), IValue(), IValue()}, "of unequal depth"},
         {"torch.tensor",
          {List({List({1}), List({1, 2})}), IValue(), IValue()},
          "expected a list of 1 elements, not 2"},
         {"torch.tensor", {"x", IValue(), IValue()}, "a tensor cannot be made of String"}});
}

TEST(BuiltinsTest, FunctionsWhoseStepsDependOnRanks) {
  const Tensor image = at::arange(16, at::kFloat).view({1, 1, 4, 4});
  EXPECT_EQ(Call("torch.nn.functional.interpolate",
                 {image, IValue(), 0.5, "nearest", IValue(), IValue(), false}),
            Text(at::upsample_nearest2d(image, c10::IntArrayRef({2, 2}))));
  EXPECT_THAT(Call("torch.nn.functional.interpolate",
                   {image, 2, 0.5, "nearest", IValue(), IValue(), false}),
              HasSubstr("either size or scale_factor"));
  EXPECT_THAT(Call("torch.nn.functional.interpolate",
                   {image, 2, IValue(), "trilinear", IValue(), IValue(), false}),
              HasSubstr("does not fit an input of rank 4"));
  const Tensor ones = at::ones({1, 3, 2});
  // 1 / (k + alpha * sum / size) ** beta; elements at a border have fewer neighbours.
  EXPECT_EQ(Call("torch.nn.functional.local_response_norm", {ones, 3, 3.0, 1.0, 0.0}),
            "Float(1,3,2,) 0.500000 0.500000 0.333333 0.333333 0.500000 0.500000");
}

TEST(BuiltinsTest, TheNumberOfArgumentsIsChecked) {
  Check({{"builtins.len", {}, "takes 1 argument, not 0"},
         {"builtins.round", {1, 2, 3}, "takes 1 to 2 arguments, not 3"},
         {"builtins.max", {}, "takes 1 or more arguments, not 0"},
         {"math.pow", {2}, "takes 2 arguments, not 1"},
         {"torch.nn.functional.local_response_norm", {kReals}, "takes 5 arguments, not 1"},
         {"torch.amp.autocast_mode._enter_autocast", {}, "takes 1 to 4 arguments, not 0"}});
}

// --- Whole runs ------------------------------------------------------------------

class RunTest : public testing::Test {
 protected:
  absl::StatusOr<std::vector<IValue>> Run(absl::string_view body, Args inputs,
                                          const Observer& observer = nullptr) {
    const std::string text = absl::StrCat("graph @forward(%x) {\n", body, "}\n");
    auto module = ParseModule(text, "test");
    if (!module.ok()) return module.status();
    auto executable = Compile(**module);
    if (!executable.ok()) return executable.status();
    RunOptions options;
    options.observer = observer;
    return (*executable)->Run(std::move(inputs), options);
  }
  // Runs `inner` when the outer run reaches %here.
  absl::StatusOr<std::vector<IValue>> Nested(absl::string_view outer, absl::string_view inner,
                                             const Tensor& x) {
    return Run(outer, {x}, [&](const Node& node, const IValue&) -> absl::Status {
      if (node.name() != "here") return absl::OkStatus();
      ++inner_runs_;
      inner_ = Run(inner, {x});
      return absl::OkStatus();
    });
  }

  int inner_runs_ = 0;
  absl::StatusOr<std::vector<IValue>> inner_ = absl::UnknownError("not run");
};

TEST_F(RunTest, TooFewArgumentsNameTheCall) {
  for (const char* call : {"math.pow(2)", "torch._C._functorch._add_batch_dim(%x, 0)",
                           "torch._C._functorch._remove_batch_dim(%x)",
                           "torch.amp.autocast_mode._enter_autocast()", "prim.SetAttr(\"a\")"}) {
    EXPECT_THAT(
        Run(absl::StrCat("  %bad = ", call, "\n  return (%x,)\n"), {kReals}),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 AllOf(HasSubstr("bad"), AnyOf(HasSubstr("takes "), HasSubstr("is missing")),
                       Not(HasSubstr("_M_")))))
        << call;
  }
}

TEST_F(RunTest, AnInnerRunLeavesTheAutocastOfTheOuterOpen) {
  const Tensor x = at::randn({4, 4});
  const char* const outer =
      "  %a = torch.amp.autocast_mode._enter_autocast(\"cpu\", torch.bfloat16, True, None)\n"
      "  %here = torch.relu(%x)\n"
      "  %y = torch.matmul(%x, %x)\n"
      "  %b = torch.amp.autocast_mode._exit_autocast(%a)\n"
      "  %z = torch.matmul(%x, %x)\n"
      "  return (%y, %z)\n";
  // One inner run does not close its own region, and one would close the outer run's.
  const char* const opens =
      "  %a = torch.amp.autocast_mode._enter_autocast(\"cpu\", torch.float16, True, None)\n"
      "  return (%x,)\n";
  const char* const closes =
      "  %b = torch.amp.autocast_mode._exit_autocast(None)\n  return (%x,)\n";
  for (const char* inner : {opens, closes}) {
    const auto outputs = Nested(outer, inner, x);
    ASSERT_OK(outputs);
    EXPECT_EQ((*outputs)[0].toTensor().scalar_type(), at::kBFloat16);
    EXPECT_EQ((*outputs)[1].toTensor().scalar_type(), at::kFloat);
    EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
  }
  EXPECT_THAT(inner_,
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no autocast is open")));
  EXPECT_EQ(inner_runs_, 2);
}

TEST_F(RunTest, AnInnerRunForgetsNothingThatTheOuterHasWritten) {
  const char* const write =
      "  %w = prim.SetAttr(\"m\", \"a\", %x)\n  %here = torch.relu(%x)\n"
      "  %g = prim.GetAttr(\"m\", \"a\", 7)\n  return (%g,)\n";
  const char* const read = "  %g = prim.GetAttr(\"m\", \"a\", 7)\n  return (%g,)\n";
  const auto outputs = Nested(write, read, kReals);
  ASSERT_OK(outputs);
  EXPECT_TRUE((*outputs)[0].isTensor());
  ASSERT_OK(inner_);
  EXPECT_EQ((*inner_)[0].toInt(), 7);
}

TEST_F(RunTest, AnInnerRunCannotCloseTheLevelsOfTheOuter) {
  const char* const outer =
      "  %n = torch._C._functorch._vmap_increment_nesting(2, \"error\")\n"
      "  %b = torch._C._functorch._add_batch_dim(%x, 0, 1)\n"
      "  %here = torch.relu(%b)\n"
      "  %r = torch._C._functorch._remove_batch_dim(%here, 1, 2, 0)\n"
      "  %m = torch._C._functorch._vmap_decrement_nesting()\n"
      "  return (%r,)\n";
  const char* const inner =
      "  %m = torch._C._functorch._vmap_decrement_nesting()\n  return (%x,)\n";
  const auto outputs = Nested(outer, inner, kReals);
  ASSERT_OK(outputs);
  EXPECT_TRUE(at::equal((*outputs)[0].toTensor(), at::relu(kReals)));
  EXPECT_THAT(inner_,
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no vmap level is open")));
}

// A training program may use them.
TEST_F(RunTest, OutputsAreOrdinaryTensors) {
  ASSERT_TRUE(at::GradMode::is_enabled());
  const Tensor x = at::randn({2, 3});
  const auto outputs = Run("  %y = torch.relu(%x)\n  %v = .view(%y, 6)\n  return (%y, %v)\n", {x});
  ASSERT_OK(outputs);
  const Tensor y = (*outputs)[0].toTensor(), v = (*outputs)[1].toTensor();
  EXPECT_FALSE(y.is_inference());
  EXPECT_FALSE(y.requires_grad());
  Tensor w = at::ones({2, 3}).set_requires_grad(true);
  (w * y).sum().backward();
  EXPECT_TRUE(at::equal(w.grad(), y));
  y.add_(1);
  EXPECT_TRUE(at::equal(v.view({2, 3}), y));
  Tensor sum = y.clone();
  sum.add_(w);
  EXPECT_TRUE(sum.requires_grad());
}

TEST_F(RunTest, NothingIsRecordedForGradients) {
  const Tensor x = at::randn({2, 3}).set_requires_grad(true);
  const auto outputs = Run("  %y = torch.relu(%x)\n  %z = .add_(%x, 1)\n  return (%y,)\n", {x});
  ASSERT_OK(outputs);
  EXPECT_FALSE((*outputs)[0].toTensor().requires_grad());
  EXPECT_TRUE(x.requires_grad());
}

}  // namespace
}  // namespace graphnet
