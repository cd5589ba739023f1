#include "graphnet/ops/parameter_names.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"

namespace graphnet {
namespace {

// Returns the parameters of an overload that may be passed by position, in order.
std::vector<PositionalParameter> Positional(const Schema& schema, CallForm form) {
  std::vector<PositionalParameter> parameters;
  for (const SchemaArgument& argument : schema.arguments) {
    if (argument.keyword_only || argument.is_variadic) break;
    // Python calls the first tensor of a function `input`.
    const bool is_self = parameters.empty() && argument.name == "self" && !schema.is_python;
    parameters.push_back(
        {is_self && form == CallForm::kFunction ? "input" : argument.name, &argument});
  }
  return parameters;
}

// Returns whether the overload has all keywords of the call and room for its arguments.
bool MayBe(const Schema& schema, const Callable& callee, const Node& node) {
  const bool visible =
      schema.is_python || callee.names_overload ||
      (callee.form == CallForm::kMethod ? schema.is_method : schema.function_module != 0);
  if (!visible || node.args().size() > schema.arguments.size()) return false;
  return absl::c_all_of(node.kwargs(), [&](const KwArg& kwarg) {
    return schema.FindArgument(kwarg.name) != nullptr ||
           (kwarg.name == "input" && schema.IndexOf("self") == 0);
  });
}

}  // namespace

std::vector<PositionalParameter> PositionalParameters(const Node& node, const Callable& callee) {
  std::optional<std::vector<PositionalParameter>> common;
  for (const Schema& schema : callee.overloads) {
    if (!MayBe(schema, callee, node)) continue;
    std::vector<PositionalParameter> parameters = Positional(schema, callee.form);
    if (!common.has_value()) {
      common = std::move(parameters);
      continue;
    }
    size_t n = 0;
    while (n < parameters.size() && n < common->size() && parameters[n].name == (*common)[n].name)
      ++n;
    common->resize(n);
  }
  return common.value_or(std::vector<PositionalParameter>());
}

}  // namespace graphnet
