#include "graphnet/passes/scalar_arithmetic.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/python_numbers.h"

namespace graphnet {
namespace {

using Result = std::optional<Argument>;

std::optional<python::Number> NumberOf(const Argument& argument) {
  if (argument.is_bool()) return argument.boolean();
  if (argument.is_int()) return argument.integer();
  if (argument.is_float()) return argument.real();
  return std::nullopt;
}

// On numbers, the in-place forms do the same as the others.
std::string Canonical(absl::string_view target) {
  absl::string_view name = target;
  if (!absl::ConsumePrefix(&name, "operator.") && !absl::ConsumePrefix(&name, "_operator.")) {
    return std::string(target);
  }
  if (name != "invert" && name != "index") absl::ConsumePrefix(&name, "i");
  return absl::StrCat("operator.", name);
}

Result OfSequence(absl::string_view op, absl::Span<const Argument> args) {
  const auto n = static_cast<int64_t>(args[0].elements().size());
  if (op == "builtins.len" && args.size() == 1) return Argument(n);
  if ((op == "builtins.sum" || op == "torch.sym_sum") && args.size() == 1) {
    Result sum = Argument(0);
    for (const Argument& element : args[0].elements()) {
      if (sum.has_value()) sum = EvaluateScalar("operator.add", {*sum, element});
    }
    return sum;
  }
  if (op != "operator.getitem" || args.size() != 2 || !args[1].is_int()) return std::nullopt;
  const int64_t i = args[1].integer() < 0 ? args[1].integer() + n : args[1].integer();
  if (i < 0 || i >= n) return std::nullopt;
  return args[0].elements()[static_cast<size_t>(i)];
}

}  // namespace

Result EvaluateScalar(absl::string_view target, absl::Span<const Argument> args, bool exact) {
  const std::string op = Canonical(target);
  if (!args.empty() && (args[0].is_list() || args[0].is_tuple())) return OfSequence(op, args);
  const python::Function* function = python::FindFunction(op);
  if (function == nullptr || args.size() < static_cast<size_t>(function->min_args) ||
      args.size() > static_cast<size_t>(function->max_args)) {
    return std::nullopt;
  }
  std::vector<python::Number> numbers;
  for (const Argument& argument : args) {
    const std::optional<python::Number> number = NumberOf(argument);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  const absl::StatusOr<python::Number> value = function->call(numbers);
  if (!value.ok()) return std::nullopt;
  if (exact && std::holds_alternative<double>(*value) && !function->is_exact) return std::nullopt;
  return std::visit([](auto v) { return Argument(v); }, *value);
}

}  // namespace graphnet
