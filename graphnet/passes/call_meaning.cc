#include "graphnet/passes/call_meaning.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/facts/shapes/result_rules.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/python_operator.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {
namespace {

CallMeaning MeaningOf(const PythonOperator& op) {
  // An operator in place, such as iadd, means what its base means.
  const PythonOperator* const base = op.is_in_place ? FindPythonOperator(op.base) : &op;
  const absl::string_view aten = base == nullptr ? op.aten : base->aten;
  return {.name = aten.empty() ? op.name : CommonName(aten),
          .is_in_place = op.is_in_place,
          .is_reflected = op.is_reflected};
}

// Returns whether ATen has an operator of that name with two operands, like rsub. The name rand is
// not one, though Python's & is reflected to __rand__.
bool TakesOther(absl::string_view name) {
  for (const Schema& schema : FindSchemas(name)) {
    if (schema.arguments.size() > 1 && schema.arguments[1].name == "other") return true;
  }
  return false;
}

CallMeaning MeaningOfOperator(absl::string_view name) {
  const bool is_in_place =
      name.size() > 1 && absl::EndsWith(name, "_") && !absl::EndsWith(name, "__");
  const absl::string_view base = is_in_place ? name.substr(0, name.size() - 1) : name;
  if (const PythonOperator* const op = FindPythonOperator(base);
      op != nullptr && op->is_reflected && TakesOther(base)) {
    CallMeaning meaning = MeaningOf(*op);
    meaning.is_in_place = is_in_place;
    return meaning;
  }
  return {.name = CommonName(base), .is_in_place = is_in_place};
}

}  // namespace

absl::string_view LastPart(absl::string_view target) {
  const std::vector<absl::string_view> parts = absl::StrSplit(target, '.');
  const bool has_overload = (parts[0] == "aten" && parts.size() == 3) ||
                            (absl::StartsWith(target, "torch.ops.") && parts.size() == 5);
  return parts[parts.size() - (has_overload ? 2 : 1)];
}

CallMeaning MeaningOf(Op op, absl::string_view target) {
  const Callable callee = FindCallable(op, target);
  if (callee.kind == Callable::Kind::kPythonOperator) return MeaningOf(*callee.python_operator);
  return MeaningOfOperator(LastPart(target));
}

CallMeaning MeaningOfName(absl::string_view name) {
  // A name of both means ATen's operator: concat joins tensors.
  if (!FindSchemas(name).empty()) return MeaningOfOperator(name);
  const Callable method = FindCallable(Op::kCallMethod, name);
  if (method.kind == Callable::Kind::kPythonOperator) return MeaningOf(*method.python_operator);
  if (const PythonOperator* const op = FindPythonOperator(name)) return MeaningOf(*op);
  return MeaningOfOperator(name);
}

std::vector<PositionalParameter> ParametersOf(const Node& call) {
  const Callable callee = CalleeOf(call);
  std::vector<PositionalParameter> parameters = PositionalParameters(call, callee);
  if (callee.python_operator == nullptr) return parameters;
  const absl::Span<const Schema> schemas = FindSchemas(callee.python_operator->aten);
  if (!parameters.empty() || schemas.empty()) return parameters;
  for (const SchemaArgument& argument : schemas[0].arguments) {
    if (argument.keyword_only) break;
    parameters.push_back({argument.name, &argument});
  }
  return parameters;
}

}  // namespace graphnet
