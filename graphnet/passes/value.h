// Value: what a node yields, with the operators and methods of torch.Tensor. Each builds a node.
//
//   const Value x(graph->Placeholder("x")), w(graph->Placeholder("w"));
//   const Value y = 1.0 - x.MatMul(w).Call("relu") * 0.5;
//   graph->Output(y);
//
// The nodes are what torch.fx traces: operator.sub(1.0, %mul), %matmul.relu(). They go to the
// graph's insertion point, and get metas as far as those can be told without running
// (facts_table.h); a call that PyTorch would refuse is built, too, and told by VerifyCalls
// (ops/verify_calls.h). As in Python, `/` divides exactly and `%` has the sign of the divisor; what
// C++ has no operator for is a method: FloorDivide, Pow, MatMul. Comparisons are by element.
#ifndef GRAPHNET_PASSES_VALUE_H_
#define GRAPHNET_PASSES_VALUE_H_

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// What becomes of operands whose dtypes differ.
enum class Promotion : uint8_t {
  kPyTorch,  // it is left to the operators
  // As Paddle's tensors do it, in calls that say so: an integer and a float number, and integers
  // that are divided, become float32; the right tensor gets the dtype of the left one; a number is
  // added, subtracted, multiplied or divided by in one call of paddle.scale, and is a tensor of no
  // dimensions in all other operators.
  kPaddle,
};

// Not met by any type: a Value is no bool, int or float before the graph runs. To branch on one
// is a call of torch.cond, to take its number out is Item().
template <typename T>
concept ValuesAreKnownOnlyWhenTheGraphRuns = !std::is_arithmetic_v<T>;

class Value {
 public:
  explicit Value(Node* node, Promotion promotion = Promotion::kPyTorch)
      : node_(node), promotion_(promotion) {}

  Node* node() const { return node_; }
  Promotion promotion() const { return promotion_; }
  operator Argument() const { return node_; }  // NOLINT: it stands for its node.
  template <typename T>
    requires std::is_arithmetic_v<T>
  explicit operator T() const
    requires ValuesAreKnownOnlyWhenTheGraphRuns<T>
  = delete;

  // What its meta says. Unknown: DType::kUnknown, -1.
  DType dtype() const;
  int dim() const;
  int ndim() const { return dim(); }
  int ndimension() const { return dim(); }

  // Any method of torch.Tensor, or, with a dot in it, any function on this and `args`.
  Value Call(absl::string_view target, absl::Span<const Argument> args = {},
             absl::Span<const KwArg> kwargs = {}) const;

  Value operator-() const;
  Value operator+() const;
  Value operator~() const;
  Value Abs() const;
  Value FloorDivide(const Argument& other) const;  // x // other
  Value Pow(const Argument& other) const;          // x ** other
  Value MatMul(const Argument& other) const;       // x @ other
  // x[index]: a number, Argument::Slice, None, Ellipsis, a tensor, a tuple of these.
  Value operator[](const Argument& index) const;
  // x[index] = value, in place.
  void Set(const Argument& index, const Argument& value) const;

  Value Reshape(absl::Span<const Argument> sizes) const;
  Value Permute(absl::Span<const Argument> dims) const;
  Value Transpose(int64_t a, int64_t b) const;
  Value T() const;
  Value To(DType dtype) const;
  Value AsType(DType dtype) const { return To(dtype); }
  Value Clone() const;
  Value Size(int64_t dim) const;  // an int when the graph runs
  Value Item() const;             // a number when the graph runs

 private:
  Node* node_;
  Promotion promotion_;
};

// `name` as in Python's module `operator`: "add", "truediv", "and_", "lt". One of a and b is a
// node; `promotion` is that of the operands.
Value CallOperator(absl::string_view name, const Argument& a, const Argument& b,
                   Promotion promotion);

// Of two values, of a value and a number, and of a number and a value.
#define GRAPHNET_VALUE_OPERATOR(symbol, name)                       \
  inline Value operator symbol(const Value& a, const Value& b) {    \
    return CallOperator(name, a, b, a.promotion());                 \
  }                                                                 \
  inline Value operator symbol(const Value& a, const Argument& b) { \
    return CallOperator(name, a, b, a.promotion());                 \
  }                                                                 \
  inline Value operator symbol(const Argument& a, const Value& b) { \
    return CallOperator(name, a, b, b.promotion());                 \
  }
GRAPHNET_VALUE_OPERATOR(+, "add")
GRAPHNET_VALUE_OPERATOR(-, "sub")
GRAPHNET_VALUE_OPERATOR(*, "mul")
GRAPHNET_VALUE_OPERATOR(/, "truediv")
GRAPHNET_VALUE_OPERATOR(%, "mod")
GRAPHNET_VALUE_OPERATOR(&, "and_")
GRAPHNET_VALUE_OPERATOR(|, "or_")
GRAPHNET_VALUE_OPERATOR(^, "xor")
GRAPHNET_VALUE_OPERATOR(<<, "lshift")
GRAPHNET_VALUE_OPERATOR(>>, "rshift")
GRAPHNET_VALUE_OPERATOR(==, "eq")
GRAPHNET_VALUE_OPERATOR(!=, "ne")
GRAPHNET_VALUE_OPERATOR(<, "lt")
GRAPHNET_VALUE_OPERATOR(<=, "le")
GRAPHNET_VALUE_OPERATOR(>, "gt")
GRAPHNET_VALUE_OPERATOR(>=, "ge")
#undef GRAPHNET_VALUE_OPERATOR

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_VALUE_H_
