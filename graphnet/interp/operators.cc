// Python's operators on sequences, strings and tensors, for values whose type was not known
// before the run. python_numbers.h has the operators on numbers.
#include <compare>
#include <string>

#include "ATen/Functions.h"
#include "absl/container/flat_hash_map.h"
#include "graphnet/interp/builtins.h"
#include "graphnet/interp/values.h"
#include "graphnet/ir/shared_walk.h"

namespace graphnet::interp {
namespace {

using c10::IValue;
using Args = std::vector<IValue>;
using T = const at::Tensor&;

// Elements that an operator may put into a sequence.
constexpr size_t kMaxRepeated = 1'000'000;
// Bytes that a string may get: adding a string to itself doubles it each time.
constexpr size_t kMaxTextBytes = size_t{1} << 24;
// Elements that a comparison may visit: nested tuples may share elements.
constexpr uint64_t kMaxCompared = 10'000'000;

bool IsIntegral(const IValue& v) { return v.isInt() || v.isBool(); }
bool IsSequence(const IValue& v) { return v.isList() || v.isTuple(); }
bool AnyTensor(const Args& a) {
  for (const IValue& v : a) {
    if (v.isTensor()) return true;
  }
  return false;
}
at::Tensor Tensor(const IValue& value) { return AsTensor(value).toTensor(); }

template <auto fn>
IValue Unary(Args& a, c10::Device) {
  return fn(a[0].toTensor());
}
template <auto fn>
IValue Binary(Args& a, c10::Device) {
  TORCH_CHECK(AnyTensor(a), "takes numbers or tensors, not ", a[0].tagKind(), " and ",
              a[1].tagKind());
  return fn(Tensor(a[0]), Tensor(a[1]));
}

IValue Add(Args& a, c10::Device device) {
  if (IsSequence(a[0]) && IsSequence(a[1])) {
    Args all = Elements(a[0]);
    Args more = Elements(a[1]);
    TORCH_CHECK(all.size() + more.size() <= kMaxRepeated, "a sequence of ",
                all.size() + more.size(), " elements");
    for (IValue& v : more) all.push_back(std::move(v));
    return MakeSequence(std::move(all), a[0].isTuple());
  }
  if (a[0].isString() && a[1].isString()) {
    const size_t size = a[0].toStringRef().size() + a[1].toStringRef().size();
    TORCH_CHECK(size <= kMaxTextBytes, "a text of ", size, " bytes");
    return a[0].toStringRef() + a[1].toStringRef();
  }
  return Binary<[](T x, T y) { return at::add(x, y); }>(a, device);
}
IValue Mul(Args& a, c10::Device device) {
  if (IsSequence(a[1])) std::swap(a[0], a[1]);
  if (IsSequence(a[0]) && IsIntegral(a[1])) {
    const Args once = Elements(a[0]);
    const int64_t times = AsInt(a[1]);
    const auto size = static_cast<int64_t>(once.size());
    TORCH_CHECK(size == 0 || times <= static_cast<int64_t>(kMaxRepeated) / size, "a sequence of ",
                size, " elements ", times, " times");
    Args all;
    for (int64_t i = 0; size > 0 && i < times; ++i) all.insert(all.end(), once.begin(), once.end());
    return MakeSequence(std::move(all), a[0].isTuple());
  }
  return Binary<[](T x, T y) { return at::mul(x, y); }>(a, device);
}

bool Same(const IValue& a, const IValue& b, Budget* budget) {
  TORCH_CHECK(budget->Charge(1), "sequences of more than ", kMaxCompared, " elements are compared");
  const std::optional<python::Number> number = NumberOf(a), other = NumberOf(b);
  if (number && other) return std::is_eq(python::Compare(*number, *other));
  if (IsSequence(a) && IsSequence(b)) {
    const Args x = Elements(a), y = Elements(b);
    if (x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i) {
      if (!Same(x[i], y[i], budget)) return false;
    }
    return true;
  }
  return a.tagKind() == b.tagKind() && (a.isNone() || a == b);
}
bool Same(const IValue& a, const IValue& b) {
  Budget budget(kMaxCompared);
  return Same(a, b, &budget);
}
IValue Eq(Args& a, c10::Device) {
  return AnyTensor(a) ? IValue(at::eq(Tensor(a[0]), Tensor(a[1]))) : Same(a[0], a[1]);
}
IValue Ne(Args& a, c10::Device) {
  return AnyTensor(a) ? IValue(at::ne(Tensor(a[0]), Tensor(a[1]))) : !Same(a[0], a[1]);
}
// Compares strings or tensors.
template <bool (*holds)(std::partial_ordering), auto fn>
IValue Ordered(Args& a, c10::Device device) {
  if (!a[0].isString() || !a[1].isString()) return Binary<fn>(a, device);
  return holds(a[0].toStringRef().compare(a[1].toStringRef()) <=> 0);
}

bool Truth(const IValue& v) {
  if (const std::optional<python::Number> number = NumberOf(v)) return python::Truth(*number);
  if (v.isNone()) return false;
  if (v.isTensor()) return v.toTensor().item().toBool();
  if (v.isString()) return !v.toStringRef().empty();
  return !Elements(v).empty();
}
IValue IsTrueOf(Args& a, c10::Device) { return Truth(a[0]); }
IValue Not(Args& a, c10::Device) { return !Truth(a[0]); }
IValue Pos(Args& a, c10::Device) { return a[0]; }

}  // namespace

Builtin::Call FindOperator(absl::string_view name) {
  static const auto* const table = new absl::flat_hash_map<absl::string_view, Builtin::Call>{
      {"operator.add", Add},
      {"operator.sub", Binary<[](T x, T y) { return at::sub(x, y); }>},
      {"operator.mul", Mul},
      {"operator.truediv", Binary<[](T x, T y) { return at::div(x, y); }>},
      {"operator.floordiv", Binary<[](T x, T y) { return at::floor_divide(x, y); }>},
      {"operator.mod", Binary<[](T x, T y) { return at::remainder(x, y); }>},
      {"operator.pow", Binary<[](T x, T y) { return at::pow(x, y); }>},
      {"operator.neg", Unary<[](T x) { return at::neg(x); }>},
      {"operator.pos", Pos},
      {"operator.invert", Unary<[](T x) { return at::bitwise_not(x); }>},
      {"operator.and_", Binary<[](T x, T y) { return at::bitwise_and(x, y); }>},
      {"operator.or_", Binary<[](T x, T y) { return at::bitwise_or(x, y); }>},
      {"operator.xor", Binary<[](T x, T y) { return at::bitwise_xor(x, y); }>},
      {"operator.lshift", Binary<[](T x, T y) { return at::bitwise_left_shift(x, y); }>},
      {"operator.rshift", Binary<[](T x, T y) { return at::bitwise_right_shift(x, y); }>},
      {"operator.lt", Ordered<std::is_lt, [](T x, T y) { return at::lt(x, y); }>},
      {"operator.le", Ordered<std::is_lteq, [](T x, T y) { return at::le(x, y); }>},
      {"operator.gt", Ordered<std::is_gt, [](T x, T y) { return at::gt(x, y); }>},
      {"operator.ge", Ordered<std::is_gteq, [](T x, T y) { return at::ge(x, y); }>},
      {"operator.eq", Eq},
      {"operator.ne", Ne},
      {"operator.truth", IsTrueOf},
      {"builtins.bool", IsTrueOf},
      {"operator.not_", Not},
  };
  const auto it = table->find(name);
  return it == table->end() ? nullptr : it->second;
}

IValue Contains(Args& a, c10::Device) {
  Budget budget(kMaxCompared);  // for all elements together
  for (const IValue& v : Elements(a[0])) {
    if (Same(v, a[1], &budget)) return true;
  }
  return false;
}

}  // namespace graphnet::interp
