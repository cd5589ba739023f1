#include "graphnet/passes/canonical_arguments.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"
#include "graphnet/ops/callable.h"

namespace graphnet {
namespace {

// The parameters of an overload that may be given by position, in order.
std::vector<absl::string_view> Positional(const Schema& schema, CallForm form) {
  std::vector<absl::string_view> names;
  for (const SchemaArgument& argument : schema.arguments) {
    if (argument.keyword_only || argument.is_variadic) break;
    // Python calls a function's first tensor so.
    const bool is_self = names.empty() && argument.name == "self" && !schema.is_python;
    names.push_back(is_self && form == CallForm::kFunction ? "input" : argument.name);
  }
  return names;
}

// Whether the overload has all keywords of the call, and room for its arguments.
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

// The names by position that all readings of the call agree on.
std::vector<absl::string_view> ParametersOf(const Node& node, const Callable& callee) {
  std::optional<std::vector<absl::string_view>> common;
  for (const Schema& schema : callee.overloads) {
    if (!MayBe(schema, callee, node)) continue;
    std::vector<absl::string_view> names = Positional(schema, callee.form);
    if (!common.has_value()) {
      common = std::move(names);
      continue;
    }
    size_t n = 0;
    while (n < names.size() && n < common->size() && names[n] == (*common)[n]) ++n;
    common->resize(n);
  }
  return common.value_or(std::vector<absl::string_view>());
}

bool MoveKeywords(Node* node, const Callable& callee) {
  const std::vector<absl::string_view> names = ParametersOf(*node, callee);
  std::vector<Argument> args(node->args().begin(), node->args().end());
  std::vector<KwArg> kwargs(node->kwargs().begin(), node->kwargs().end());
  while (args.size() < names.size()) {
    const absl::string_view name = names[args.size()];
    const auto it = absl::c_find_if(kwargs, [&](const KwArg& kwarg) { return kwarg.name == name; });
    if (it == kwargs.end()) break;
    args.push_back(it->value);
    kwargs.erase(it);
  }
  if (kwargs.size() == node->kwargs().size()) return false;
  node->set_kwargs(kwargs);
  node->set_args(args);
  return true;
}

}  // namespace

absl::StatusOr<bool> CanonicalizeArguments(Module* module, PassRun& run) {
  size_t changed = 0;
  for (Graph* graph : module->graphs()) {
    for (Node* node : graph->nodes()) {
      if (!node->kwargs().empty() &&
          (node->op() == Op::kCallFunction || node->op() == Op::kCallMethod)) {
        changed += MoveKeywords(node, CalleeOf(*node)) ? 1 : 0;
      }
    }
  }
  if (changed > 0) run.Note("calls with keywords moved to their position", changed);
  return changed > 0;
}

}  // namespace graphnet
