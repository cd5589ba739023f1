// Python's operators on numbers, sequences and strings; tensors meet them only
// where their type was not known before the run.
#include <cmath>
#include <string>

#include "ATen/Functions.h"
#include "absl/container/flat_hash_map.h"
#include "graphnet/interp/builtins.h"
#include "graphnet/interp/values.h"

namespace graphnet::interp {
namespace {

using c10::IValue;
using Args = std::vector<IValue>;

bool IsIntegral(const IValue& v) { return v.isInt() || v.isBool(); }
int64_t Integer(const IValue& v) { return v.isBool() ? v.toBool() : v.toInt(); }
double Real(const IValue& v) { return v.toScalar().toDouble(); }
bool IsSequence(const IValue& v) { return v.isList() || v.isTuple(); }
bool AnyTensor(const Args& a) {
  for (const IValue& v : a) {
    if (v.isTensor()) return true;
  }
  return false;
}
at::Tensor AsTensor(IValue value) {
  Convert({.want = Want::kTensor}, &value);
  return value.toTensor();
}

[[noreturn]] void Overflow() { TORCH_CHECK(false, "the result is no int64"); }

// --- Arithmetic --------------------------------------------------------------

struct Add {
  static int64_t Ints(int64_t a, int64_t b) {
    int64_t r;
    if (__builtin_add_overflow(a, b, &r)) Overflow();
    return r;
  }
  static double Reals(double a, double b) { return a + b; }
  static at::Tensor Tensors(const at::Tensor& a, const at::Tensor& b) { return at::add(a, b); }
};
struct Sub {
  static int64_t Ints(int64_t a, int64_t b) {
    int64_t r;
    if (__builtin_sub_overflow(a, b, &r)) Overflow();
    return r;
  }
  static double Reals(double a, double b) { return a - b; }
  static at::Tensor Tensors(const at::Tensor& a, const at::Tensor& b) { return at::sub(a, b); }
};
struct Mul {
  static int64_t Ints(int64_t a, int64_t b) {
    int64_t r;
    if (__builtin_mul_overflow(a, b, &r)) Overflow();
    return r;
  }
  static double Reals(double a, double b) { return a * b; }
  static at::Tensor Tensors(const at::Tensor& a, const at::Tensor& b) { return at::mul(a, b); }
};
struct FloorDiv {
  static int64_t Ints(int64_t a, int64_t b) {
    TORCH_CHECK(b != 0, "division by zero");
    if (b == -1) return Sub::Ints(0, a);
    const int64_t q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
  }
  static double Reals(double a, double b) {
    TORCH_CHECK(b != 0, "division by zero");
    return std::floor(a / b);
  }
  static at::Tensor Tensors(const at::Tensor& a, const at::Tensor& b) {
    return at::floor_divide(a, b);
  }
};
struct Mod {
  static int64_t Ints(int64_t a, int64_t b) {
    TORCH_CHECK(b != 0, "division by zero");
    if (b == -1) return 0;
    const int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
  }
  static double Reals(double a, double b) {
    TORCH_CHECK(b != 0, "division by zero");
    const double r = std::fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
  }
  static at::Tensor Tensors(const at::Tensor& a, const at::Tensor& b) {
    return at::remainder(a, b);
  }
};

template <typename Op>
IValue Arithmetic(Args& a, c10::Device) {
  TORCH_CHECK(a.size() == 2, "takes two operands");
  if (AnyTensor(a)) return Op::Tensors(AsTensor(a[0]), AsTensor(a[1]));
  if (IsIntegral(a[0]) && IsIntegral(a[1])) return Op::Ints(Integer(a[0]), Integer(a[1]));
  return Op::Reals(Real(a[0]), Real(a[1]));
}

IValue AddAny(Args& a, c10::Device device) {
  if (a.size() == 2 && IsSequence(a[0]) && IsSequence(a[1])) {
    Args all = Elements(a[0]);
    for (IValue& v : Elements(a[1])) all.push_back(std::move(v));
    return MakeSequence(std::move(all), a[0].isTuple());
  }
  if (a.size() == 2 && a[0].isString() && a[1].isString())
    return a[0].toStringRef() + a[1].toStringRef();
  return Arithmetic<Add>(a, device);
}
IValue MulAny(Args& a, c10::Device device) {
  if (a.size() == 2 && IsSequence(a[0]) && IsIntegral(a[1])) {
    const Args once = Elements(a[0]);
    const int64_t times = Integer(a[1]);
    TORCH_CHECK(times < 1'000'000, "a sequence ", times, " times");
    Args all;
    for (int64_t i = 0; i < times; ++i) all.insert(all.end(), once.begin(), once.end());
    return MakeSequence(std::move(all), a[0].isTuple());
  }
  if (a.size() == 2 && IsSequence(a[1])) std::swap(a[0], a[1]);
  if (IsSequence(a.at(0))) return MulAny(a, device);
  return Arithmetic<Mul>(a, device);
}
IValue TrueDiv(Args& a, c10::Device) {
  TORCH_CHECK(a.size() == 2, "takes two operands");
  if (AnyTensor(a)) return at::div(AsTensor(a[0]), AsTensor(a[1]));
  TORCH_CHECK(Real(a[1]) != 0, "division by zero");
  return Real(a[0]) / Real(a[1]);
}
IValue Pow(Args& a, c10::Device) {
  TORCH_CHECK(a.size() == 2, "takes two operands");
  if (AnyTensor(a)) return at::pow(AsTensor(a[0]), AsTensor(a[1]));
  if (!IsIntegral(a[0]) || !IsIntegral(a[1]) || Integer(a[1]) < 0) {
    return std::pow(Real(a[0]), Real(a[1]));
  }
  int64_t result = 1, base = Integer(a[0]);
  for (int64_t n = Integer(a[1]); n > 0; n >>= 1) {
    if (n & 1) result = Mul::Ints(result, base);
    if (n > 1) base = Mul::Ints(base, base);
  }
  return result;
}
IValue Neg(Args& a, c10::Device) {
  if (a.at(0).isTensor()) return at::neg(a[0].toTensor());
  return IsIntegral(a[0]) ? IValue(Sub::Ints(0, Integer(a[0]))) : IValue(-Real(a[0]));
}
IValue Pos(Args& a, c10::Device) { return a.at(0).isBool() ? IValue(Integer(a[0])) : a[0]; }
IValue Invert(Args& a, c10::Device) {
  if (a.at(0).isTensor()) return at::bitwise_not(a[0].toTensor());
  return ~Integer(a[0]);
}

// --- Bits --------------------------------------------------------------------

template <typename Ints, typename Tensors>
IValue Bits(Args& a, Ints ints, Tensors tensors) {
  TORCH_CHECK(a.size() == 2, "takes two operands");
  if (AnyTensor(a)) return tensors(AsTensor(a[0]), AsTensor(a[1]));
  const int64_t r = ints(Integer(a[0]), Integer(a[1]));
  return a[0].isBool() && a[1].isBool() ? IValue(r != 0) : IValue(r);
}
using T = const at::Tensor&;
IValue And(Args& a, c10::Device) {
  return Bits(
      a, [](int64_t x, int64_t y) { return x & y; },
      [](T x, T y) { return at::bitwise_and(x, y); });
}
IValue Or(Args& a, c10::Device) {
  return Bits(
      a, [](int64_t x, int64_t y) { return x | y; }, [](T x, T y) { return at::bitwise_or(x, y); });
}
IValue Xor(Args& a, c10::Device) {
  return Bits(
      a, [](int64_t x, int64_t y) { return x ^ y; },
      [](T x, T y) { return at::bitwise_xor(x, y); });
}
int64_t ShiftLeft(int64_t x, int64_t by) {
  TORCH_CHECK(by >= 0, "negative shift");
  if (by < 62) return Mul::Ints(x, int64_t{1} << by);
  if (x != 0) Overflow();
  return 0;
}
int64_t ShiftRight(int64_t x, int64_t by) {
  TORCH_CHECK(by >= 0, "negative shift");
  return x >> std::min<int64_t>(by, 63);
}
IValue LShift(Args& a, c10::Device) {
  return Bits(a, ShiftLeft, [](T x, T y) { return at::bitwise_left_shift(x, y); });
}
IValue RShift(Args& a, c10::Device) {
  return Bits(a, ShiftRight, [](T x, T y) { return at::bitwise_right_shift(x, y); });
}

// --- Comparison --------------------------------------------------------------

template <typename Less, typename Tensors>
IValue Compare(Args& a, Less less, Tensors tensors) {
  TORCH_CHECK(a.size() == 2, "takes two operands");
  if (AnyTensor(a)) return tensors(AsTensor(a[0]), AsTensor(a[1]));
  if (a[0].isString() && a[1].isString())
    return less(a[0].toStringRef().compare(a[1].toStringRef()), 0);
  if (IsIntegral(a[0]) && IsIntegral(a[1])) return less(Integer(a[0]), Integer(a[1]));
  return less(Real(a[0]), Real(a[1]));
}
IValue Lt(Args& a, c10::Device) {
  return Compare(
      a, [](auto x, auto y) { return x < y; }, [](T x, T y) { return at::lt(x, y); });
}
IValue Le(Args& a, c10::Device) {
  return Compare(
      a, [](auto x, auto y) { return x <= y; }, [](T x, T y) { return at::le(x, y); });
}
IValue Gt(Args& a, c10::Device) {
  return Compare(
      a, [](auto x, auto y) { return x > y; }, [](T x, T y) { return at::gt(x, y); });
}
IValue Ge(Args& a, c10::Device) {
  return Compare(
      a, [](auto x, auto y) { return x >= y; }, [](T x, T y) { return at::ge(x, y); });
}
bool Same(const IValue& a, const IValue& b) {
  if (a.isScalar() && b.isScalar()) {
    return IsIntegral(a) && IsIntegral(b) ? Integer(a) == Integer(b) : a.toScalar().equal(Real(b));
  }
  if (IsSequence(a) && IsSequence(b)) {
    const Args x = Elements(a), y = Elements(b);
    if (x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i) {
      if (!Same(x[i], y[i])) return false;
    }
    return true;
  }
  return a.tagKind() == b.tagKind() && (a.isNone() || a == b);
}
IValue Eq(Args& a, c10::Device) {
  TORCH_CHECK(a.size() == 2, "takes two operands");
  if (AnyTensor(a)) return at::eq(AsTensor(a[0]), AsTensor(a[1]));
  return Same(a[0], a[1]);
}
IValue Ne(Args& a, c10::Device) {
  TORCH_CHECK(a.size() == 2, "takes two operands");
  if (AnyTensor(a)) return at::ne(AsTensor(a[0]), AsTensor(a[1]));
  return !Same(a[0], a[1]);
}

bool Truth(const IValue& v) {
  if (v.isNone()) return false;
  if (v.isTensor()) return v.toTensor().item().toBool();
  if (IsSequence(v)) return !Elements(v).empty();
  if (v.isString()) return !v.toStringRef().empty();
  return Real(v) != 0;
}
IValue IsTrue(Args& a, c10::Device) { return Truth(a.at(0)); }
IValue Not(Args& a, c10::Device) { return !Truth(a.at(0)); }
IValue Is(Args& a, c10::Device) { return a.at(0).is(a.at(1)); }
IValue IsNot(Args& a, c10::Device) { return !a.at(0).is(a.at(1)); }
IValue Contains(Args& a, c10::Device) {
  for (const IValue& v : Elements(a.at(0))) {
    if (Same(v, a.at(1))) return true;
  }
  return false;
}
IValue Index(Args& a, c10::Device) { return Integer(a.at(0)); }

}  // namespace

Builtin FindOperator(absl::string_view name) {
  static const auto* const table = new absl::flat_hash_map<absl::string_view, Builtin>{
      {"add", AddAny},
      {"sub", Arithmetic<Sub>},
      {"mul", MulAny},
      {"truediv", TrueDiv},
      {"floordiv", Arithmetic<FloorDiv>},
      {"mod", Arithmetic<Mod>},
      {"pow", Pow},
      {"neg", Neg},
      {"pos", Pos},
      {"invert", Invert},
      {"and_", And},
      {"or_", Or},
      {"xor", Xor},
      {"lshift", LShift},
      {"rshift", RShift},
      {"lt", Lt},
      {"le", Le},
      {"gt", Gt},
      {"ge", Ge},
      {"eq", Eq},
      {"ne", Ne},
      {"truth", IsTrue},
      {"not_", Not},
      {"is_", Is},
      {"is_not", IsNot},
      {"contains", Contains},
      {"index", Index},
  };
  const auto it = table->find(name);
  return it == table->end() ? nullptr : it->second;
}

}  // namespace graphnet::interp
