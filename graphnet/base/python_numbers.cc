#include "graphnet/base/python_numbers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace graphnet::python {
namespace {

using Result = absl::StatusOr<Number>;
using Args = absl::Span<const Number>;

bool IsFloat(const Number& n) { return std::holds_alternative<double>(n); }
bool IsBool(const Number& n) { return std::holds_alternative<bool>(n); }
// Returns the value of a bool or int.
int64_t Int(const Number& n) { return IsBool(n) ? std::get<bool>(n) : std::get<int64_t>(n); }
double Float(const Number& n) {
  return IsFloat(n) ? std::get<double>(n) : static_cast<double>(Int(n));
}

absl::Status Error(absl::string_view what) { return absl::InvalidArgumentError(what); }
absl::Status NoInt64() { return absl::OutOfRangeError("the result does not fit in an int64"); }
absl::Status DivisionByZero() { return Error("division by zero"); }

Result FromInt(std::optional<int64_t> value) { return value ? Result(*value) : NoInt64(); }

// Converts a float without a fraction to an int.
Result ToInt(double value) {
  if (!std::isfinite(value)) return Error(absl::StrCat("cannot convert ", value, " to an int"));
  // 2**63 is exact as a float; the largest int64 is not.
  if (value < -0x1p63 || value >= 0x1p63) return NoInt64();
  return static_cast<int64_t>(value);
}

// --- Arithmetic ----------------------------------------------------------------

// Divides with one rounding, as Python does with ints that are not exact as floats.
double DivideInts(int64_t a, int64_t b) {
  const auto magnitude = [](int64_t v) {
    return v < 0 ? -static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  };
  const uint64_t n = magnitude(a), d = magnitude(b);
  if (n == 0) return (a < 0) != (b < 0) ? -0.0 : 0.0;
  // The quotient has 64 or 65 bits. The last one is set if there is a remainder.
  const int shift = 64 + static_cast<int>(std::bit_width(d)) - static_cast<int>(std::bit_width(n));
  const unsigned __int128 shifted = static_cast<unsigned __int128>(n) << shift;
  const unsigned __int128 quotient = shifted / d | (shifted % d != 0 ? 1 : 0);
  const double value = std::ldexp(static_cast<double>(quotient), -shift);
  return (a < 0) != (b < 0) ? -value : value;
}

struct DivMod {
  double quotient, rest;
};
// Computes what float_divmod in CPython's floatobject.c does.
DivMod DivideFloats(double a, double b) {
  double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest == 0) {
    rest = std::copysign(0.0, b);
  } else if ((b < 0) != (rest < 0)) {
    rest += b;
    quotient -= 1;
  }
  if (quotient == 0) return {std::copysign(0.0, a / b), rest};
  const double floor = std::floor(quotient);
  return {quotient - floor > 0.5 ? floor + 1 : floor, rest};
}

Result PowerOfFloats(double a, double b) {
  if (a == 0 && b < 0 && std::isfinite(b)) return DivisionByZero();
  if (a < 0 && std::isfinite(a) && std::isfinite(b) && std::floor(b) != b) {
    return Error("the power is a complex number");
  }
  const double value = std::pow(a, b);
  if (std::isinf(value) && std::isfinite(a) && std::isfinite(b))
    return Error("the power does not fit in a float");
  return value;
}

// Applies an operator to two ints or to two floats.
template <auto ints, auto floats>
Result Arithmetic(Args args) {
  const Number &a = args[0], &b = args[1];
  if (IsFloat(a) || IsFloat(b)) return floats(Float(a), Float(b));
  return ints(Int(a), Int(b));
}

Result AddInts(int64_t a, int64_t b) { return FromInt(Add(a, b)); }
Result AddFloats(double a, double b) { return a + b; }
Result SubtractInts(int64_t a, int64_t b) { return FromInt(Subtract(a, b)); }
Result SubtractFloats(double a, double b) { return a - b; }
Result MultiplyInts(int64_t a, int64_t b) { return FromInt(Multiply(a, b)); }
Result MultiplyFloats(double a, double b) { return a * b; }
Result TrueDivideInts(int64_t a, int64_t b) {
  return b == 0 ? Result(DivisionByZero()) : DivideInts(a, b);
}
Result TrueDivideFloats(double a, double b) { return b == 0 ? Result(DivisionByZero()) : a / b; }
Result FloorDivideInts(int64_t a, int64_t b) {
  return b == 0 ? Result(DivisionByZero()) : FromInt(FloorDivide(a, b));
}
Result FloorDivideFloats(double a, double b) {
  return b == 0 ? Result(DivisionByZero()) : DivideFloats(a, b).quotient;
}
Result ModuloInts(int64_t a, int64_t b) {
  return b == 0 ? Result(DivisionByZero()) : FromInt(Modulo(a, b));
}
Result ModuloFloats(double a, double b) {
  return b == 0 ? Result(DivisionByZero()) : DivideFloats(a, b).rest;
}
Result PowerOfInts(int64_t a, int64_t b) {
  if (b < 0) return PowerOfFloats(static_cast<double>(a), static_cast<double>(b));
  return FromInt(Power(a, b));
}

Result Negate(Args a) {
  return IsFloat(a[0]) ? Result(-Float(a[0])) : FromInt(Subtract(0, Int(a[0])));
}
Result Positive(Args a) { return IsFloat(a[0]) ? a[0] : Number(Int(a[0])); }
Result Absolute(Args a) {
  if (IsFloat(a[0])) return std::fabs(Float(a[0]));
  return Int(a[0]) < 0 ? FromInt(Subtract(0, Int(a[0]))) : Int(a[0]);
}

// --- Ranges ----------------------------------------------------------------------

// The length of range(a[0], a[1], a[2]).
Result RangeLength(Args a) {
  const int64_t step = Int(a[2]);
  if (step == 0) return absl::InvalidArgumentError("the step of a range must not be 0");
  const int64_t low = Int(a[step > 0 ? 0 : 1]), high = Int(a[step > 0 ? 1 : 0]);
  if (low >= high) return int64_t{0};
  const std::optional<int64_t> distance = Subtract(high, low);
  const std::optional<int64_t> stride = step > 0 ? std::optional(step) : Subtract(0, step);
  if (!distance || !stride) return FromInt(std::nullopt);
  return FromInt((*distance - 1) / *stride + 1);
}
// The element a[0] of a range that begins with a[1] and has the step a[2].
Result DeriveIndex(Args a) {
  const std::optional<int64_t> offset = Multiply(Int(a[0]), Int(a[2]));
  return FromInt(offset ? Add(Int(a[1]), *offset) : std::nullopt);
}

// --- Bits ------------------------------------------------------------------------

template <typename Op>
Result Bits(Args args) {
  const Number &a = args[0], &b = args[1];
  if (IsFloat(a) || IsFloat(b)) return Error("expected an int, got a float");
  const int64_t value = Op()(Int(a), Int(b));
  return IsBool(a) && IsBool(b) ? Number(value != 0) : Number(value);
}
template <bool left>
Result Shift(Args args) {
  if (IsFloat(args[0]) || IsFloat(args[1])) return Error("expected an int, got a float");
  const int64_t value = Int(args[0]), by = Int(args[1]);
  if (by < 0) return Error("the shift count is negative");
  if (!left) return value >> std::min<int64_t>(by, 63);
  if (value == 0) return int64_t{0};
  const __int128 wide = static_cast<__int128>(value) << std::min<int64_t>(by, 64);
  const auto narrow = static_cast<int64_t>(wide);
  return wide == narrow ? Result(narrow) : NoInt64();
}
Result Invert(Args a) {
  return IsFloat(a[0]) ? Result(Error("expected an int, got a float")) : Result(~Int(a[0]));
}

// --- Comparison --------------------------------------------------------------------

template <bool (*holds)(std::partial_ordering)>
Result Ordered(Args args) {
  return holds(Compare(args[0], args[1]));
}
template <bool greatest>
Result Extreme(Args args) {
  if (args.size() == 1) return Error("expected at least two numbers, got one");
  const Number* best = &args[0];
  for (const Number& n : args) {
    const std::partial_ordering order = Compare(n, *best);
    if (greatest ? std::is_gt(order) : std::is_lt(order)) best = &n;
  }
  return *best;
}
Result IsTrue(Args a) { return Truth(a[0]); }
Result Not(Args a) { return !Truth(a[0]); }

// --- Conversion and rounding -------------------------------------------------------

template <double (*round)(double)>
Result Rounded(Args a) {
  return IsFloat(a[0]) ? ToInt(round(Float(a[0]))) : Int(a[0]);
}
Result ToFloat(Args a) { return Float(a[0]); }
Result Index(Args a) {
  return IsFloat(a[0]) ? Result(Error("expected an int, got a float")) : Int(a[0]);
}

// Rounds to the nearest multiple of 10 ** -digits, where digits < 0; a tie goes to the even one.
Result RoundInt(int64_t value, int64_t digits) {
  if (digits < -19) return int64_t{0};  // Half of 10 ** 20 does not fit into an int64.
  __int128 unit = 1;
  for (; digits < 0; ++digits) unit *= 10;
  __int128 rest = value % unit;
  if (rest < 0) rest += unit;
  const __int128 below = value - rest;
  const bool up = 2 * rest > unit || (2 * rest == unit && below / unit % 2 != 0);
  const __int128 rounded = up ? below + unit : below;
  const auto narrow = static_cast<int64_t>(rounded);
  return rounded == narrow ? Result(narrow) : NoInt64();
}

// Rounds the exact value of the float to so many decimal digits after the point. A tie goes to the
// even digit, as in printf.
Result RoundFloat(double value, int64_t digits) {
  if (!std::isfinite(value) || digits > 323) return value;
  if (digits < -308) return 0.0 * value;
  char text[1024];
  if (digits >= 0) {
    std::snprintf(text, sizeof text, "%.*f", static_cast<int>(digits), value);
    return std::strtod(text, nullptr);
  }
  // The digits before the point, and then the number of them that stay.
  const double whole = std::trunc(std::fabs(value));
  const int before = whole == 0 ? 0 : std::snprintf(text, sizeof text, "%.0f", whole);
  const int64_t stay = before + digits;
  if (stay < 0) return std::copysign(0.0, value);
  if (stay == 0) {
    // A 5 without further digits is half of the next power of ten, and rounds to zero.
    const bool is_half = text[0] == '5' && std::strspn(text + 1, "0") + 1 == std::strlen(text) &&
                         whole == std::fabs(value);
    if (text[0] < '5' || is_half) return std::copysign(0.0, value);
    std::snprintf(text, sizeof text, "1e%d", before);
    return std::copysign(std::strtod(text, nullptr), value);
  }
  std::snprintf(text, sizeof text, "%.*e", static_cast<int>(stay) - 1, value);
  const double rounded = std::strtod(text, nullptr);
  return std::isinf(rounded) ? Result(Error("the rounded value does not fit in a float")) : rounded;
}

Result Round(Args a) {
  if (a.size() == 1) return Rounded<std::nearbyint>(a);
  if (IsFloat(a[1])) return Error("expected an int, got a float");
  const int64_t digits = Int(a[1]);
  if (IsFloat(a[0])) return RoundFloat(Float(a[0]), digits);
  return digits >= 0 ? Result(Int(a[0])) : RoundInt(Int(a[0]), digits);
}

// --- math --------------------------------------------------------------------------

// Python raises an exception where C reports a domain or range error.
Result Checked(double value, bool finite, bool nan) {
  if (std::isnan(value) && !nan) return Error("math domain error");
  if (std::isinf(value) && finite) return Error("math range error");
  return value;
}
template <double (*fn)(double)>
Result Math(Args a) {
  const double x = Float(a[0]);
  return Checked(fn(x), std::isfinite(x), std::isnan(x));
}
Result Log(Args a) {
  Result result = Math<std::log>(a.subspan(0, 1));
  if (!result.ok() || a.size() == 1) return result;
  const Result base = Math<std::log>(a.subspan(1));
  return base.ok() ? TrueDivideFloats(Float(*result), Float(*base)) : base;
}
Result MathPower(Args a) {
  const double x = Float(a[0]), y = Float(a[1]);
  return Checked(std::pow(x, y), std::isfinite(x) && std::isfinite(y),
                 std::isnan(x) || std::isnan(y));
}

}  // namespace

bool Truth(const Number& number) { return IsFloat(number) ? Float(number) != 0 : Int(number) != 0; }

std::partial_ordering Compare(const Number& a, const Number& b) {
  if (IsFloat(a) == IsFloat(b)) return IsFloat(a) ? Float(a) <=> Float(b) : Int(a) <=> Int(b);
  if (IsFloat(a)) return 0 <=> Compare(b, a);  // NOLINT(modernize-use-nullptr)
  const double real = Float(b);
  if (std::isnan(real)) return std::partial_ordering::unordered;
  if (real >= 0x1p63) return std::partial_ordering::less;
  if (real < -0x1p63) return std::partial_ordering::greater;
  const double whole = std::trunc(real);
  const auto order = Int(a) <=> static_cast<int64_t>(whole);
  return std::is_neq(order) ? std::partial_ordering(order) : whole <=> real;
}

std::optional<int64_t> Add(int64_t a, int64_t b) {
  int64_t out;
  return __builtin_add_overflow(a, b, &out) ? std::nullopt : std::optional(out);
}
std::optional<int64_t> Subtract(int64_t a, int64_t b) {
  int64_t out;
  return __builtin_sub_overflow(a, b, &out) ? std::nullopt : std::optional(out);
}
std::optional<int64_t> Multiply(int64_t a, int64_t b) {
  int64_t out;
  return __builtin_mul_overflow(a, b, &out) ? std::nullopt : std::optional(out);
}
std::optional<int64_t> FloorDivide(int64_t a, int64_t b) {
  if (b == 0) return std::nullopt;
  if (b == -1) return Subtract(0, a);
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
std::optional<int64_t> Modulo(int64_t a, int64_t b) {
  if (b == 0) return std::nullopt;
  if (b == -1) return 0;
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
std::optional<int64_t> Power(int64_t a, int64_t b) {
  if (b < 0) return std::nullopt;
  std::optional<int64_t> result = 1, base = a;
  while (b > 0) {
    if (b & 1) result = Multiply(*result, *base);
    b >>= 1;
    if (b > 0) base = Multiply(*base, *base);
    if (!result || !base) return std::nullopt;
  }
  return result;
}

const Function* FindFunction(absl::string_view target) {
  constexpr int kAny = std::numeric_limits<int>::max();
  static const auto* const table = new absl::flat_hash_map<absl::string_view, Function>{
      {"operator.add", {Arithmetic<AddInts, AddFloats>, 2, 2, true}},
      {"operator.sub", {Arithmetic<SubtractInts, SubtractFloats>, 2, 2, true}},
      {"operator.mul", {Arithmetic<MultiplyInts, MultiplyFloats>, 2, 2, true}},
      {"operator.truediv", {Arithmetic<TrueDivideInts, TrueDivideFloats>, 2, 2, true}},
      {"operator.floordiv", {Arithmetic<FloorDivideInts, FloorDivideFloats>, 2, 2, true}},
      {"operator.mod", {Arithmetic<ModuloInts, ModuloFloats>, 2, 2, true}},
      {"operator.pow", {Arithmetic<PowerOfInts, PowerOfFloats>, 2, 2, false}},
      {"operator.neg", {Negate, 1, 1, true}},
      // TorchScript's ways to compute a range.
      {"aten.__range_length.default", {RangeLength, 3, 3, true}},
      {"aten.__derive_index.default", {DeriveIndex, 3, 3, true}},
      {"operator.pos", {Positive, 1, 1, true}},
      {"operator.and_", {Bits<std::bit_and<>>, 2, 2, true}},
      {"operator.or_", {Bits<std::bit_or<>>, 2, 2, true}},
      {"operator.xor", {Bits<std::bit_xor<>>, 2, 2, true}},
      {"operator.lshift", {Shift<true>, 2, 2, true}},
      {"operator.rshift", {Shift<false>, 2, 2, true}},
      {"operator.invert", {Invert, 1, 1, true}},
      {"operator.lt", {Ordered<std::is_lt>, 2, 2, true}},
      {"operator.le", {Ordered<std::is_lteq>, 2, 2, true}},
      {"operator.gt", {Ordered<std::is_gt>, 2, 2, true}},
      {"operator.ge", {Ordered<std::is_gteq>, 2, 2, true}},
      {"operator.eq", {Ordered<std::is_eq>, 2, 2, true}},
      {"operator.ne", {Ordered<std::is_neq>, 2, 2, true}},
      {"operator.truth", {IsTrue, 1, 1, true}},
      {"operator.not_", {Not, 1, 1, true}},
      {"operator.index", {Index, 1, 1, true}},
      {"builtins.abs", {Absolute, 1, 1, true}},
      {"builtins.bool", {IsTrue, 1, 1, true}},
      {"builtins.float", {ToFloat, 1, 1, true}},
      {"builtins.int", {Rounded<std::trunc>, 1, 1, true}},
      {"builtins.max", {Extreme<true>, 1, kAny, true}},
      {"builtins.min", {Extreme<false>, 1, kAny, true}},
      {"builtins.pow", {Arithmetic<PowerOfInts, PowerOfFloats>, 2, 2, false}},
      {"builtins.round", {Round, 1, 2, true}},
      {"math.ceil", {Rounded<std::ceil>, 1, 1, true}},
      {"math.cos", {Math<std::cos>, 1, 1, false}},
      {"math.exp", {Math<std::exp>, 1, 1, false}},
      {"math.fabs", {Math<std::fabs>, 1, 1, true}},
      {"math.floor", {Rounded<std::floor>, 1, 1, true}},
      {"math.log", {Log, 1, 2, false}},
      {"math.log10", {Math<std::log10>, 1, 1, false}},
      {"math.log2", {Math<std::log2>, 1, 1, false}},
      {"math.pow", {MathPower, 2, 2, false}},
      {"math.sin", {Math<std::sin>, 1, 1, false}},
      {"math.sqrt", {Math<std::sqrt>, 1, 1, true}},
      {"math.tan", {Math<std::tan>, 1, 1, false}},
      {"math.trunc", {Rounded<std::trunc>, 1, 1, true}},
      {"torch._sym_sqrt", {Math<std::sqrt>, 1, 1, true}},
      {"torch.sym_float", {ToFloat, 1, 1, true}},
      {"torch.sym_int", {Rounded<std::trunc>, 1, 1, true}},
      {"torch.sym_max", {Extreme<true>, 2, 2, true}},
      {"torch.sym_min", {Extreme<false>, 2, 2, true}},
      {"torch.sym_not", {Not, 1, 1, true}},
  };
  const auto it = table->find(target);
  return it == table->end() ? nullptr : &it->second;
}

}  // namespace graphnet::python
