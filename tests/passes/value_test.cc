#include "graphnet/passes/value.h"

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "ATen/ATen.h"
#include "gmock/gmock.h"
#include "graphnet/interp/executable.h"
#include "graphnet/interp/torch/types.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/ops/verify_calls.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

// A Value is not a number before the graph runs, and the compiler's message says so.
static_assert(!std::is_constructible_v<bool, Value>);
static_assert(!std::is_constructible_v<int, Value>);
static_assert(!std::is_constructible_v<double, Value>);
static_assert(std::is_convertible_v<Value, Argument>);

const TensorMeta& MetaOf(const at::Tensor& tensor, std::vector<Dim>* shape, TensorMeta* meta) {
  shape->assign(tensor.sizes().begin(), tensor.sizes().end());
  *meta = {.dtype = DTypeOf(tensor.scalar_type()), .has_shape = true, .shape = *shape};
  return *meta;
}

using Build = std::function<Value(const std::vector<Value>&)>;

// Returns the result of a graph of the inputs; metas, if there are any, must be those of the
// results.
at::Tensor Yield(const std::vector<at::Tensor>& inputs, const Build& build,
                 Promotion promotion = Promotion::kPyTorch, std::string* text = nullptr) {
  Module module;
  Graph* const graph = module.AddGraph("forward");
  std::vector<Value> values;
  for (const at::Tensor& input : inputs) {
    std::vector<Dim> shape;
    TensorMeta meta;
    Node* const node = graph->Placeholder(std::string(1, static_cast<char>('x' + values.size())));
    node->set_meta(module.InternValueMeta(MetaOf(input, &shape, &meta)));
    values.emplace_back(node, promotion);
  }
  graph->Output(build(values));
  EXPECT_OK(Verify(module));
  EXPECT_OK(VerifyCalls(module));
  if (text != nullptr) *text = PrintModule(module, {.header = false});
  auto executable = Compile(module);
  EXPECT_OK(executable);
  if (!executable.ok()) return {};
  std::vector<c10::IValue> arguments;
  for (const at::Tensor& input : inputs) arguments.emplace_back(input.clone());
  RunOptions options;
  options.observer = [](const Node& node, const c10::IValue& value) {
    const TensorMeta* const meta = node.tensor_meta();
    if (meta == nullptr || !value.isTensor()) return absl::OkStatus();
    if (meta->dtype != DType::kUnknown) {
      EXPECT_EQ(meta->dtype, DTypeOf(value.toTensor().scalar_type())) << node.target();
    }
    if (meta->has_shape) {
      EXPECT_EQ(std::vector<Dim>(meta->shape.begin(), meta->shape.end()),
                std::vector<Dim>(value.toTensor().sizes().begin(), value.toTensor().sizes().end()))
          << node.target();
    }
    return absl::OkStatus();
  };
  const auto outputs = (*executable)->Run(std::move(arguments), options);
  EXPECT_OK(outputs);
  return outputs.ok() ? outputs->at(0).toTensor() : at::Tensor();
}

bool Same(const at::Tensor& a, const at::Tensor& b) {
  return a.defined() && a.scalar_type() == b.scalar_type() && at::equal(a, b);
}

// An operator of Value in its three forms (two values, or a value and a number on either side), and
// ATen's.
struct Operator {
  const char* name;
  std::function<Value(const Value&, const Value&)> values;
  std::function<Value(const Value&, const Argument&)> number;
  std::function<Value(const Argument&, const Value&)> reflected;
  std::function<at::Tensor(const at::Tensor&, const at::Tensor&)> aten;
  bool bits = false;  // True for bitwise operators, which take integers only.
};

#define OPERATOR(symbol, call)                                                      \
  {                                                                                 \
    #symbol, [](const Value& a, const Value& b) { return a symbol b; },             \
        [](const Value& a, const Argument& b) { return a symbol b; },               \
        [](const Argument& a, const Value& b) { return a symbol b; },               \
        [](const at::Tensor& a, const at::Tensor& b) -> at::Tensor { return call; } \
  }
#define METHOD(method, name, call)                                                                 \
  {                                                                                                \
    #method, [](const Value& a, const Value& b) { return a.method(b); },                           \
        [](const Value& a, const Argument& b) { return a.method(b); },                             \
        [](const Argument& a, const Value& b) { return CallOperator(name, a, b, b.promotion()); }, \
        [](const at::Tensor& a, const at::Tensor& b) -> at::Tensor { return call; }                \
  }

std::vector<Operator> Operators() {
  std::vector<Operator> all = {
      OPERATOR(+, at::add(a, b)),        OPERATOR(-, at::sub(a, b)),
      OPERATOR(*, at::mul(a, b)),        OPERATOR(/, at::div(a, b)),
      OPERATOR(%, at::remainder(a, b)),  OPERATOR(==, at::eq(a, b)),
      OPERATOR(!=, at::ne(a, b)),        OPERATOR(<, at::lt(a, b)),
      OPERATOR(<=, at::le(a, b)),        OPERATOR(>, at::gt(a, b)),
      OPERATOR(>=, at::ge(a, b)),        METHOD(FloorDivide, "floordiv", at::floor_divide(a, b)),
      METHOD(Pow, "pow", at::pow(a, b)),
  };
  std::vector<Operator> bits = {OPERATOR(&, at::__and__(a, b)), OPERATOR(|, at::__or__(a, b)),
                                OPERATOR(^, at::__xor__(a, b)), OPERATOR(<<, at::__lshift__(a, b)),
                                OPERATOR(>>, at::__rshift__(a, b))};
  for (Operator& op : bits) {
    op.bits = true;
    all.push_back(std::move(op));
  }
  return all;
}

// Returns a number as PyTorch wraps it: it does not decide the dtype among tensors of its kind.
at::Tensor Wrapped(const at::Scalar& number) {
  at::Tensor tensor = at::scalar_tensor(number, number.isFloatingPoint() ? at::kDouble : at::kLong);
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

at::Tensor Inputs(at::ScalarType dtype) {
  return at::tensor({1.0, 2.0, 5.0, 7.0, 3.0, 4.0}).view({2, 3}).to(dtype);
}

TEST(ValueTest, EachOperatorOnEachOperandIsPyTorchs) {
  int cases = 0;
  for (const Operator& op : Operators()) {
    for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kHalf, at::kLong, at::kInt}) {
      const bool whole = at::isIntegralType(dtype, true);
      if (op.bits && !whole) continue;
      const at::Tensor x = Inputs(dtype);
      for (const at::ScalarType other : {dtype, at::kFloat, at::kInt}) {
        if (op.bits && !at::isIntegralType(other, true)) continue;
        const at::Tensor y = at::tensor({2.0, 1.0, 3.0}).to(other);
        EXPECT_TRUE(Same(Yield({x, y}, [&](const auto& v) { return op.values(v[0], v[1]); }),
                         op.aten(x, y)))
            << op.name << " " << dtype << " " << other;
        ++cases;
      }
      for (const at::Scalar& number : {at::Scalar(2), at::Scalar(2.5)}) {
        if (op.bits && number.isFloatingPoint()) continue;
        const Argument argument =
            number.isFloatingPoint() ? Argument(number.toDouble()) : Argument(number.toLong());
        EXPECT_TRUE(Same(Yield({x}, [&](const auto& v) { return op.number(v[0], argument); }),
                         op.aten(x, Wrapped(number))))
            << op.name << " " << dtype << " " << number;
        // Tensor.__rtruediv__ multiplies by the reciprocal.
        const at::Tensor expected =
            std::string(op.name) == "/" ? x.reciprocal() * number : op.aten(Wrapped(number), x);
        EXPECT_TRUE(
            Same(Yield({x}, [&](const auto& v) { return op.reflected(argument, v[0]); }), expected))
            << number << " " << op.name << " " << dtype;
        cases += 2;
      }
    }
  }
  EXPECT_EQ(cases, 13 * 5 * 7 + 5 * 2 * 4);
}

// Applies Paddle's documented promotion and computes with ATen.
at::Tensor AsPaddle(const Operator& op, at::Tensor x, const at::Scalar& number, bool reflected) {
  const std::string name = op.name;
  const bool whole = at::isIntegralType(x.scalar_type(), true);
  if (whole && (number.isFloatingPoint() || name == "/")) x = x.to(at::kFloat);
  if (name == "+") return x + number;
  if (name == "-") return reflected ? -x + number : x - number;
  if (name == "*") return x * number;
  if (name == "/" && !reflected) return x * (1.0 / number.toDouble());
  const at::Tensor constant = at::full({}, number, x.options());
  return reflected ? op.aten(constant, x) : op.aten(x, constant);
}

TEST(ValueTest, PaddlesPromotion) {
  for (const Operator& op : Operators()) {
    for (const at::ScalarType dtype : {at::kFloat, at::kHalf, at::kLong, at::kInt}) {
      const bool whole = at::isIntegralType(dtype, true);
      if (op.bits && !whole) continue;
      const at::Tensor x = Inputs(dtype);
      for (const at::Scalar& number : {at::Scalar(2), at::Scalar(2.5)}) {
        if (op.bits && number.isFloatingPoint()) continue;
        const Argument argument =
            number.isFloatingPoint() ? Argument(number.toDouble()) : Argument(number.toLong());
        EXPECT_TRUE(Same(
            Yield(
                {x}, [&](const auto& v) { return op.number(v[0], argument); }, Promotion::kPaddle),
            AsPaddle(op, x, number, false)))
            << op.name << " " << dtype << " " << number;
        EXPECT_TRUE(Same(Yield(
                             {x}, [&](const auto& v) { return op.reflected(argument, v[0]); },
                             Promotion::kPaddle),
                         AsPaddle(op, x, number, true)))
            << number << " " << op.name << " " << dtype;
      }
      for (const at::ScalarType other : {at::kFloat, at::kInt}) {
        if (op.bits && other == at::kFloat) continue;
        const at::Tensor y = at::tensor({2.0, 1.0, 3.0}).to(other);
        const bool divides = std::string(op.name) == "/";
        const at::Tensor left = divides && whole && other == at::kInt ? x.to(at::kFloat) : x;
        EXPECT_TRUE(Same(
            Yield(
                {x, y}, [&](const auto& v) { return op.values(v[0], v[1]); }, Promotion::kPaddle),
            op.aten(left, y.to(left.scalar_type()))))
            << op.name << " " << dtype << " " << other;
      }
    }
  }
}

TEST(ValueTest, ANumberIsOneScaleInPaddle) {
  std::string text;
  Yield(
      {Inputs(at::kInt)}, [](const auto& v) { return (2.5 - v[0]) == 1; }, Promotion::kPaddle,
      &text);
  EXPECT_EQ(text,
            "graph @forward(\n"
            "  %x : i32[2, 3]\n"
            ") {\n"
            "  %to = .to(%x, torch.float32) : f32[2, 3]\n"
            "  %scale = paddle.scale(%to, scale = -1, bias = 2.5) : f32[2, 3]\n"
            "  %full = torch.full((), 1, dtype = torch.float32) : f32[]@cpu\n"
            "  %eq = operator.eq(%scale, %full) : bool[2, 3]\n"
            "  return %eq\n"
            "}\n");
}

// The example in the header and in docs/value.md.
TEST(ValueTest, NodesAreThoseOfTorchFx) {
  Module module;
  Graph* const graph = module.AddGraph("forward");
  const Value x(graph->Placeholder("x")), w(graph->Placeholder("w"));
  const Value y = 1.0 - x.MatMul(w).Call("relu") * 0.5;
  graph->Output(y);
  EXPECT_EQ(PrintModule(module),
            "graphnet.module 1\n\n"
            "graph @forward(%x, %w) {\n"
            "  %matmul = operator.matmul(%x, %w)\n"
            "  %relu = .relu(%matmul)\n"
            "  %mul = operator.mul(%relu, 0.5)\n"
            "  %sub = operator.sub(1.0, %mul)\n"
            "  return %sub\n"
            "}\n"
            "end\n");
}

TEST(ValueTest, MethodsAndIndices) {
  const at::Tensor x = at::arange(24, at::kFloat).view({2, 3, 4}), w = at::randn({4, 5});
  const auto same = [](const std::vector<at::Tensor>& inputs, const Build& build,
                       const at::Tensor& expected) {
    EXPECT_TRUE(Same(Yield(inputs, build), expected));
  };
  same(
      {x, w}, [](const auto& v) { return v[0].MatMul(v[1]); }, at::matmul(x, w));
  same(
      {x}, [](const auto& v) { return -v[0] + (+v[0]); }, -x + x);
  same(
      {x}, [](const auto& v) { return (v[0] - 3).Abs(); }, (x - 3).abs());
  same(
      {x}, [](const auto& v) { return ~(v[0] > 3); }, ~(x > 3));
  same(
      {x},
      [](const auto& v) {
        return v[0].Reshape({v[0].Size(1), -1});
      },
      x.reshape({3, -1}));
  same(
      {x},
      [](const auto& v) {
        return v[0].Permute({2, 0, 1}).Clone();
      },
      x.permute({2, 0, 1}));
  same(
      {x}, [](const auto& v) { return v[0].Transpose(0, -1); }, x.transpose(0, -1));
  same(
      {w}, [](const auto& v) { return v[0].T(); }, w.t());
  same(
      {x}, [](const auto& v) { return v[0].AsType(DType::kInt64) / 2; }, x.to(at::kLong) / 2);
  same(
      {x},
      [](const auto& v) {
        return v[0] * v[0][Argument::Tuple({0, 1, 2})].Item();
      },
      x * 6);
  same(
      {x}, [](const auto& v) { return v[0][1]; }, x[1]);
  same(
      {x}, [](const auto& v) { return v[0].Call("sum", {-1}).Call("torch.relu"); },
      x.sum(-1).relu());
  same(
      {x},
      [](const auto& v) {
        const Argument all[] = {Argument::None(), 2, Argument::None()};
        return v[0][Argument::Tuple({Argument::Ellipsis(), Argument::Slice(all)})];
      },
      x.slice(-1, 0, 2));
  at::Tensor written = x.clone();
  written[1] = 7;
  same(
      {x},
      [](const auto& v) {
        v[0].Set(1, 7.0);
        return v[0] + 0;
      },
      written + 0);
}

TEST(ValueTest, SaysWhatIsKnown) {
  Module module;
  Graph* const graph = module.AddGraph("forward");
  Node* const x = graph->Placeholder("x");
  const Value unknown(x);
  EXPECT_EQ(unknown.dtype(), DType::kUnknown);
  EXPECT_EQ(unknown.dim(), -1);
  EXPECT_EQ((unknown + 1).dim(), -1);
  const std::vector<Dim> shape = {2, 3};
  x->set_meta(module.InternValueMeta(
      TensorMeta{.dtype = DType::kInt64, .has_shape = true, .shape = shape}));
  EXPECT_EQ((unknown * 2).dtype(), DType::kInt64);
  EXPECT_EQ((unknown == unknown).dtype(), DType::kBool);
  EXPECT_EQ(unknown.Call("unsqueeze", {0}).ndim(), 3);
  EXPECT_EQ(unknown.ndimension(), 2);
}

}  // namespace
}  // namespace graphnet
