#include "graphnet/passes/canonical_arguments.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/parameter_names.h"
#include "graphnet/passes/pass.h"

namespace graphnet {
namespace {

bool MoveKeywords(Node* node, const Callable& callee) {
  const std::vector<PositionalParameter> names = PositionalParameters(*node, callee);
  std::vector<Argument> args(node->args().begin(), node->args().end());
  std::vector<KwArg> kwargs(node->kwargs().begin(), node->kwargs().end());
  while (args.size() < names.size()) {
    const absl::string_view name = names[args.size()].name;
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

namespace {

const RegisteredPass kCanonicalArgumentsPass("canonical-arguments", "canonical_arguments.h",
                                             CanonicalizeArguments);

}  // namespace

}  // namespace graphnet
