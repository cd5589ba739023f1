#include "graphnet/passes/scalar_arithmetic.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "absl/strings/strip.h"

namespace graphnet {
namespace {

using Result = std::optional<Argument>;

bool IsInt(const Argument& a) { return a.is_int() || a.is_bool(); }
int64_t Int(const Argument& a) { return a.is_bool() ? a.boolean() : a.integer(); }
bool IsNumber(const Argument& a) { return IsInt(a) || a.is_float(); }
double Real(const Argument& a) { return a.is_float() ? a.real() : static_cast<double>(Int(a)); }
bool Truth(const Argument& a) { return a.is_float() ? a.real() != 0 : Int(a) != 0; }

// Whether a double holds the int exactly, as Python computes with it.
bool IsExact(int64_t v) { return std::abs(static_cast<double>(v)) <= 9007199254740992.0; }

// The int that a float is rounded to; nullopt when it does not fit.
Result ToInt(double v) {
  if (!(std::abs(v) < 9.2e18)) return std::nullopt;
  return Argument(static_cast<int64_t>(v));
}

Result FloorDivideInts(int64_t a, int64_t b) {
  if (b == 0 || (a == std::numeric_limits<int64_t>::min() && b == -1)) return std::nullopt;
  const int64_t quotient = a / b;
  return Argument(quotient - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0));
}
Result ModInts(int64_t a, int64_t b) {
  if (b == 0) return std::nullopt;
  if (b == -1) return Argument(int64_t{0});
  const int64_t rest = a % b;
  return Argument(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
}

Result PowInts(int64_t a, int64_t b) {
  if (b < 0) return std::nullopt;
  int64_t value = 1;
  // What grows leaves 64 bits in as many steps.
  if (b > 64 && a != 0 && a != 1 && a != -1) return std::nullopt;
  if (b > 64)
    return Argument(a == 0 ? int64_t{0} : (a == 1 || b % 2 == 0) ? int64_t{1} : int64_t{-1});
  for (; b > 0; --b) {
    if (__builtin_mul_overflow(value, a, &value)) return std::nullopt;
  }
  return Argument(value);
}

Result Ints(absl::string_view op, int64_t a, int64_t b) {
  int64_t value = 0;
  if (op == "add") return __builtin_add_overflow(a, b, &value) ? Result() : Argument(value);
  if (op == "sub") return __builtin_sub_overflow(a, b, &value) ? Result() : Argument(value);
  if (op == "mul") return __builtin_mul_overflow(a, b, &value) ? Result() : Argument(value);
  if (op == "floordiv") return FloorDivideInts(a, b);
  if (op == "mod") return ModInts(a, b);
  if (op == "pow") return PowInts(a, b);
  if (op == "truediv") {
    if (b == 0 || !IsExact(a) || !IsExact(b)) return std::nullopt;
    return Argument(static_cast<double>(a) / static_cast<double>(b));
  }
  return std::nullopt;
}

Result Reals(absl::string_view op, double a, double b) {
  if (op == "add") return Argument(a + b);
  if (op == "sub") return Argument(a - b);
  if (op == "mul") return Argument(a * b);
  if (op == "truediv" && b != 0) return Argument(a / b);
  // Floats that Python rounds with care are left to it.
  return std::nullopt;
}

Result Compare(absl::string_view op, const Argument& a, const Argument& b) {
  int order = 0;  // a <=> b
  if (IsInt(a) && IsInt(b)) {
    order = Int(a) < Int(b) ? -1 : Int(a) > Int(b);
  } else {
    if ((IsInt(a) && !IsExact(Int(a))) || (IsInt(b) && !IsExact(Int(b)))) return std::nullopt;
    if (std::isnan(Real(a)) || std::isnan(Real(b))) return std::nullopt;
    order = Real(a) < Real(b) ? -1 : Real(a) > Real(b);
  }
  if (op == "lt") return Argument(order < 0);
  if (op == "le") return Argument(order <= 0);
  if (op == "gt") return Argument(order > 0);
  if (op == "ge") return Argument(order >= 0);
  if (op == "eq") return Argument(order == 0);
  if (op == "ne") return Argument(order != 0);
  return std::nullopt;
}

Result Unary(absl::string_view op, const Argument& a) {
  if (op == "neg" || op == "abs") {
    if (a.is_float()) return Argument(op == "neg" ? -a.real() : std::abs(a.real()));
    if (Int(a) == std::numeric_limits<int64_t>::min()) return std::nullopt;
    return Argument(op == "neg" || Int(a) < 0 ? -Int(a) : Int(a));
  }
  if (op == "pos") return a.is_bool() ? Argument(Int(a)) : a;
  if (op == "not_") return Argument(!Truth(a));
  if (op == "truth" || op == "bool") return Argument(Truth(a));
  if (op == "index" && IsInt(a)) return Argument(Int(a));
  if (op == "int" || op == "trunc")
    return a.is_float() ? ToInt(std::trunc(a.real())) : Argument(Int(a));
  if (op == "floor") return a.is_float() ? ToInt(std::floor(a.real())) : Argument(Int(a));
  if (op == "ceil") return a.is_float() ? ToInt(std::ceil(a.real())) : Argument(Int(a));
  if (op == "float")
    return a.is_float() || IsExact(Int(a)) ? Result(Argument(Real(a))) : std::nullopt;
  // The one root that IEEE 754 rounds right.
  if (op == "sqrt" && Real(a) >= 0 && (a.is_float() || IsExact(Int(a))))
    return Argument(std::sqrt(Real(a)));
  return std::nullopt;
}

Result Binary(absl::string_view op, const Argument& a, const Argument& b) {
  if (op == "max" || op == "min") {
    const Result less = Compare("lt", a, b);
    const Result greater = Compare("gt", a, b);
    if (!less.has_value() || !greater.has_value()) return std::nullopt;
    // Of equal ones the first.
    return op == "max" ? (less->boolean() ? b : a) : (greater->boolean() ? b : a);
  }
  if (const Result compared = Compare(op, a, b)) return compared;
  if (IsInt(a) && IsInt(b)) return Ints(op, Int(a), Int(b));
  if ((IsInt(a) && !IsExact(Int(a))) || (IsInt(b) && !IsExact(Int(b)))) return std::nullopt;
  return Reals(op, Real(a), Real(b));
}

}  // namespace

Result EvaluateScalar(absl::string_view target, absl::Span<const Argument> args) {
  absl::string_view op = target;
  const bool known = absl::ConsumePrefix(&op, "operator.") ||
                     absl::ConsumePrefix(&op, "_operator.") ||
                     absl::ConsumePrefix(&op, "builtins.") || absl::ConsumePrefix(&op, "math.") ||
                     absl::ConsumePrefix(&op, "torch.sym_");
  if (!known || args.empty()) return std::nullopt;
  const bool is_sequence = args[0].is_list() || args[0].is_tuple();
  if (op == "getitem" && args.size() == 2 && is_sequence && IsInt(args[1])) {
    const int64_t n = static_cast<int64_t>(args[0].elements().size());
    const int64_t i = Int(args[1]) < 0 ? Int(args[1]) + n : Int(args[1]);
    if (i < 0 || i >= n) return std::nullopt;
    return args[0].elements()[static_cast<size_t>(i)];
  }
  if (op == "len" && args.size() == 1 && is_sequence) {
    return Argument(static_cast<int64_t>(args[0].elements().size()));
  }
  for (const Argument& argument : args) {
    if (!IsNumber(argument)) return std::nullopt;
  }
  // On numbers, in place is as usual.
  for (const absl::string_view name : {"add", "sub", "mul", "truediv", "floordiv", "mod", "pow"}) {
    if (op.size() == name.size() + 1 && op[0] == 'i' && op.substr(1) == name) op = name;
  }
  if (op == "not" || op == "ite" || op == "sum") return std::nullopt;
  if (args.size() == 1) return Unary(op, args[0]);
  if (args.size() == 2) return Binary(op, args[0], args[1]);
  return std::nullopt;
}

}  // namespace graphnet
