#include "graphnet/passes/partial_evaluation/numbers.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "graphnet/base/python_numbers.h"
#include "graphnet/ir/scalar_type.h"
#include "graphnet/passes/scalar_arithmetic.h"

namespace graphnet::evaluation {
namespace {

using Result = std::optional<Value>;

// Maps TorchScript's operators on numbers to Python's.
absl::string_view PythonTarget(absl::string_view name) {
  static const auto* const names = new absl::flat_hash_map<absl::string_view, absl::string_view>{
      {"add", "operator.add"},
      {"sub", "operator.sub"},
      {"mul", "operator.mul"},
      {"floordiv", "operator.floordiv"},
      {"div", "operator.truediv"},
      {"floor_divide", "operator.floordiv"},
      {"neg", "operator.neg"},
      {"remainder", "operator.mod"},
      {"eq", "operator.eq"},
      {"ne", "operator.ne"},
      {"lt", "operator.lt"},
      {"le", "operator.le"},
      {"gt", "operator.gt"},
      {"ge", "operator.ge"},
      {"__not__", "operator.not_"},
      {"__and__", "operator.and_"},
      {"__or__", "operator.or_"},
      {"__xor__", "operator.xor"},
      {"__lshift__", "operator.lshift"},
      {"__rshift__", "operator.rshift"},
      {"Int", "builtins.int"},
      {"Float", "builtins.float"},
      {"Bool", "builtins.bool"},
      {"abs", "builtins.abs"},
      {"round", "builtins.round"},
      {"ceil", "math.ceil"},
      {"floor", "math.floor"},
      {"sqrt", "math.sqrt"},
      {"max", "torch.sym_max"},
      {"min", "torch.sym_min"},
      {"sym_max", "torch.sym_max"},
      {"sym_min", "torch.sym_min"},
  };
  const auto it = names->find(name);
  return it == names->end() ? absl::string_view() : it->second;
}

python::Number NumberOf(const Argument& a) {
  if (a.is_bool()) return a.boolean();
  if (a.is_int()) return a.integer();
  return a.real();
}

double RealOf(const Argument& a) {
  return a.is_float() ? a.real() : static_cast<double>(a.is_bool() ? a.boolean() : a.integer());
}

// Returns TorchScript's number of a dtype.
std::optional<int64_t> CodeOf(const Argument& a) {
  if (a.is_int()) return a.integer();
  if (a.kind() != Argument::Kind::kDType) return std::nullopt;
  return TorchScalarType(a.dtype());
}

Value NumberTensor(int64_t number) { return {Argument(number), nullptr, true}; }

Result Evaluate(absl::string_view function, absl::Span<const Argument> numbers, bool exact) {
  const std::optional<Argument> value = EvaluateScalar(function, numbers, exact);
  return value.has_value() ? Result(Value{*value}) : std::nullopt;
}

// Evaluates operators on sizes, which traces hold in tensors of integers.
Result OfNumberTensors(absl::string_view name, absl::Span<const Value> args) {
  for (const Value& arg : args.subspan(0, 2)) {
    if (!arg.argument.is_int()) return std::nullopt;
  }
  const int64_t a = args[0].argument.integer();
  if (args.size() == 1) {
    if (name == "Int" || name == "ScalarImplicit" || name == "IntImplicit" || name == "item" ||
        name == "_local_scalar_dense")
      return Value{Argument(a)};
    if (name == "Float") return Value{Argument(static_cast<double>(a))};
    if (name == "Bool") return Value{Argument(a != 0)};
    if (name == "detach" || name == "clone") return args[0];
    if (const auto negated = python::Subtract(0, a); negated && name == "neg")
      return NumberTensor(*negated);
    return std::nullopt;
  }
  const int64_t b = args[1].argument.integer();
  if (args.size() == 3) {
    const bool is_floor = args[2].is_string() && args[2].argument.string() == "floor";
    if (name == "div" && is_floor) {
      const std::optional<int64_t> quotient = python::FloorDivide(a, b);
      return quotient ? Result(NumberTensor(*quotient)) : std::nullopt;
    }
    // The third argument of add and sub is a factor.
    if (!args[2].is_int() || args[2].argument.integer() != 1) return std::nullopt;
  }
  const absl::string_view python = IntegerOperator(name);
  if (python.empty() || args.size() > 3) return std::nullopt;
  const Argument operands[] = {Argument(name == "rsub" ? b : a), Argument(name == "rsub" ? a : b)};
  const std::optional<Argument> value = EvaluateScalar(python, operands);
  if (!value.has_value() || !value->is_int()) return std::nullopt;
  return NumberTensor(value->integer());
}

// Computes powers as TorchScript does, which yields a float unless both are ints and it says so.
Result Power(absl::string_view target, absl::Span<const Argument> numbers, bool exact) {
  if (target == "aten.pow.int_to_int") return Evaluate("operator.pow", numbers, exact);
  const bool has_float = numbers[0].is_float() || numbers[1].is_float();
  if (exact && !has_float) return std::nullopt;
  const double base = RealOf(numbers[0]), exponent = RealOf(numbers[1]);
  const double power = std::pow(base, exponent);
  const bool is_real = base > 0 || (!exact && exponent >= 0 && exponent == std::trunc(exponent));
  return std::isfinite(power) && is_real ? Result(Value{power}) : std::nullopt;
}

}  // namespace

absl::string_view NameOf(absl::string_view target) {
  if (!absl::ConsumePrefix(&target, "aten.") && !absl::ConsumePrefix(&target, "prim.")) return "";
  return target.substr(0, target.find('.'));
}

absl::string_view IntegerOperator(absl::string_view aten) {
  if (aten == "floor_divide") return "operator.floordiv";
  const bool is_one =
      aten == "add" || aten == "sub" || aten == "mul" || aten == "remainder" || aten == "rsub";
  return is_one ? PythonTarget(aten == "rsub" ? "sub" : aten) : absl::string_view();
}

std::optional<std::partial_ordering> Compare(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number())
    return python::Compare(NumberOf(a.argument), NumberOf(b.argument));
  if (a.is_string() && b.is_string()) return a.argument.string().compare(b.argument.string()) <=> 0;
  return std::nullopt;
}

Result KnownNumber(absl::string_view target, absl::Span<const Value> args, bool exact) {
  if (target == "prim.NumToTensor.Scalar" && args[0].is_int())
    return NumberTensor(args[0].argument.integer());
  if (!absl::c_all_of(args, [](const Value& v) { return v.is_constant(); })) return std::nullopt;
  const absl::string_view name = NameOf(target);
  if (absl::c_any_of(args, [](const Value& v) { return v.is_number_tensor; }))
    return OfNumberTensors(name, args);
  std::vector<Argument> numbers;
  for (const Value& value : args) numbers.push_back(value.argument);
  if ((name == "eq" || name == "ne") && numbers.size() == 2) {
    if (numbers[0].kind() == Argument::Kind::kDType ||
        numbers[1].kind() == Argument::Kind::kDType) {
      const std::optional<int64_t> x = CodeOf(numbers[0]), y = CodeOf(numbers[1]);
      if (x.has_value() && y.has_value()) return Value{(*x == *y) == (name == "eq")};
    }
    if (numbers[0].kind() == numbers[1].kind() && !numbers[0].is_number() &&
        !numbers[0].is_aggregate())
      return Value{(numbers[0] == numbers[1]) == (name == "eq")};
  }
  if (!absl::c_all_of(numbers, [](const Argument& a) { return a.is_number(); }))
    return std::nullopt;
  if (Result value = Evaluate(target, numbers, exact)) return value;
  if (name == "pow" && numbers.size() == 2) return Power(target, numbers, exact);
  const absl::string_view python = PythonTarget(name);
  if (python.empty()) return std::nullopt;
  Result value = Evaluate(python, numbers, exact);
  // TorchScript rounds to floats.
  if (value && name == "round" && target != "aten.round.Scalar" && value->argument.is_int())
    return Value{static_cast<double>(value->argument.integer())};
  return value;
}

}  // namespace graphnet::evaluation
