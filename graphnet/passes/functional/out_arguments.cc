#include "graphnet/passes/functional/out_arguments.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace graphnet {
namespace {

bool IsAten(absl::string_view target) {
  return absl::StartsWith(absl::StripPrefix(target, "torch.ops."), "aten.");
}

// Returns "aten.add" for "torch.ops.aten.add.out", and other targets than those of ATen as they are.
absl::string_view WithoutOverload(absl::string_view target) {
  if (!IsAten(target)) return target;
  const absl::string_view name = absl::StripPrefix(target, "torch.ops.");
  return name.substr(0, name.find('.', absl::string_view("aten.").size()));
}

}  // namespace

std::vector<OutCall> SplitOutCalls(Module* module) {
  std::vector<OutCall> calls;
  for (Graph* graph : module->graphs()) {
    for (Node* node : graph->nodes()) {
      const Argument* out = node->is_call() ? node->kwarg("out") : nullptr;
      if (out == nullptr || !out->is_node()) continue;
      OutCall made = {.call = node, .target = std::string(node->target())};
      Node* const written = out->node();
      std::vector<KwArg> kwargs(node->kwargs().begin(), node->kwargs().end());
      const auto it = absl::c_find_if(kwargs, [](const KwArg& k) { return k.name == "out"; });
      made.place = static_cast<size_t>(it - kwargs.begin());
      kwargs.erase(it);
      // Without `out`, the arguments determine the overload.
      if (IsAten(made.target)) {
        node->set_target(made.target.substr(0, made.target.rfind('.')));
      }
      node->set_kwargs(kwargs);
      const InsertionGuard guard(graph, node->next());
      made.copy = graph->CallFunction("aten.copy_.default", {written, node}, {}, node->name());
      made.copy->set_location(node->location());
      made.copy->set_module_path(node->module_path());
      made.copy->set_meta(node->meta());
      node->ReplaceUsesWithIf(made.copy, [&](const Node* user) { return user != made.copy; });
      calls.push_back(made);
    }
  }
  return calls;
}

void JoinOutCalls(const std::vector<OutCall>& calls) {
  for (const OutCall& of : calls) {
    if (of.copy->is_erased()) continue;
    Node* call = of.call;
    if (call->is_erased()) {  // It was made anew with other operands.
      const Argument& value = of.copy->args()[1];
      if (!value.is_node() || !value.node()->is_call() || value.node()->users().size() != 1 ||
          WithoutOverload(value.node()->target()) != WithoutOverload(of.target)) {
        continue;
      }
      call = value.node();
    }
    call->set_target(of.target);
    std::vector<KwArg> kwargs(call->kwargs().begin(), call->kwargs().end());
    kwargs.insert(kwargs.begin() + static_cast<std::ptrdiff_t>(std::min(of.place, kwargs.size())),
                  {"out", of.copy->args()[0]});
    call->set_kwargs(kwargs);
    of.copy->ReplaceAllUsesWith(call);
    call->graph()->EraseNode(of.copy);
  }
}

}  // namespace graphnet
