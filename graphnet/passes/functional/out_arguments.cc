#include "graphnet/passes/functional/out_arguments.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace graphnet {

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
      if (absl::StartsWith(absl::StripPrefix(made.target, "torch.ops."), "aten.")) {
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
    of.call->set_target(of.target);
    std::vector<KwArg> kwargs(of.call->kwargs().begin(), of.call->kwargs().end());
    kwargs.insert(kwargs.begin() + static_cast<std::ptrdiff_t>(of.place),
                  {"out", of.copy->args()[0]});
    of.call->set_kwargs(kwargs);
    of.copy->ReplaceAllUsesWith(of.call);
    of.call->graph()->EraseNode(of.copy);
  }
}

}  // namespace graphnet
