// Value: the result of a node, with the operators and methods of torch.Tensor. Each builds a node.
//
//   const Value x(graph->Placeholder("x")), w(graph->Placeholder("w"));
//   const Value y = 1.0 - x.MatMul(w).Call("relu") * 0.5;
//   graph->Output(y);
//
// The nodes are those that torch.fx traces: operator.sub(1.0, %mul), %matmul.relu(). They go to the
// graph's insertion point, and get metas as far as these follow without running anything
// (facts_table.h). A call that PyTorch would refuse is built as well; VerifyCalls reports it
// (ops/verify_calls.h). As in Python, `/` is true division and `%` has the sign of the divisor.
// Operators that C++ lacks are methods: FloorDivide, Pow, MatMul. Comparisons are elementwise.
#ifndef GRAPHNET_PASSES_VALUE_H_
#define GRAPHNET_PASSES_VALUE_H_

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// The rules for operands whose dtypes differ.
enum class Promotion : uint8_t {
  kPyTorch,  // The operators decide.
  // The rules of Paddle's tensors, written as explicit calls: integers that meet a float number or
  // are divided become float32; the right tensor gets the dtype of the left one; a number that is
  // added, subtracted, multiplied or divided by goes into one call of paddle.scale, and becomes a
  // tensor without dimensions in all other operators.
  kPaddle,
};

// No type satisfies this: a Value is not a bool, int or float before the graph runs. Use torch.cond
// to branch on a value, and Item() to take its number out.
template <typename T>
concept ValuesAreKnownOnlyWhenTheGraphRuns = !std::is_arithmetic_v<T>;

// The result of a node. A Value is small and cheap to copy; the module owns the node.
class Value {
 public:
  // `node` must not be null and must outlive the value.
  explicit Value(Node* node, Promotion promotion = Promotion::kPyTorch)
      : node_(node), promotion_(promotion) {}

  // The node that yields the value.
  Node* node() const { return node_; }
  // The rules that the value's operators follow.
  Promotion promotion() const { return promotion_; }
  // Lets a value be an operand of any call.
  operator Argument() const { return node_; }  // NOLINT: it stands for its node.
  template <typename T>
    requires std::is_arithmetic_v<T>
  explicit operator T() const
    requires ValuesAreKnownOnlyWhenTheGraphRuns<T>
  = delete;

  // The dtype that the meta gives; kUnknown if there is none.
  DType dtype() const;
  // The number of dimensions that the meta gives; -1 if it is unknown.
  int dim() const;
  // Same as dim().
  int ndim() const { return dim(); }
  // Same as dim().
  int ndimension() const { return dim(); }

  // Calls any method of torch.Tensor, or, if `target` has a dot, any function on this and `args`.
  Value Call(absl::string_view target, absl::Span<const Argument> args = {},
             absl::Span<const KwArg> kwargs = {}) const;

  Value operator-() const;                         // -x
  Value operator+() const;                         // +x
  Value operator~() const;                         // ~x
  Value Abs() const;                               // abs(x)
  Value FloorDivide(const Argument& other) const;  // x // other
  Value Pow(const Argument& other) const;          // x ** other
  Value MatMul(const Argument& other) const;       // x @ other
  // x[index]: `index` is a number, Argument::Slice, None, Ellipsis, a tensor, or a tuple of these.
  Value operator[](const Argument& index) const;
  // x[index] = value, in place.
  void Set(const Argument& index, const Argument& value) const;

  Value Reshape(absl::Span<const Argument> sizes) const;  // x.reshape(sizes)
  Value Permute(absl::Span<const Argument> dims) const;   // x.permute(dims)
  Value Transpose(int64_t a, int64_t b) const;            // x.transpose(a, b)
  Value T() const;                                        // the transpose, as torch.Tensor.T
  Value To(DType dtype) const;                            // x.to(dtype)
  // Same as To(); Paddle calls it astype.
  Value AsType(DType dtype) const { return To(dtype); }
  Value Clone() const;            // x.clone()
  Value Size(int64_t dim) const;  // an int when the graph runs
  Value Item() const;             // a number when the graph runs

 private:
  Node* node_;
  Promotion promotion_;
};

// Calls the function `name` of Python's module `operator`: "add", "truediv", "and_", "lt". At least
// one of a and b must be a node; `promotion` is that of the operands.
Value CallOperator(absl::string_view name, const Argument& a, const Argument& b,
                   Promotion promotion);

// Defines an operator on two values, on a value and a number, and on a number and a value.
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
