#include "graphnet/ir/transform.h"

#include <string>

#include "graphnet/base/status.h"
#include "graphnet/ir/outline.h"

namespace graphnet {
namespace {

absl::Status TransformGraph(Graph* graph,
                            absl::FunctionRef<absl::StatusOr<Argument>(Node* call)> replace) {
  for (Node* call : graph->nodes()) {
    if (!call->is_call()) continue;
    Node* const before = call->prev();
    const InsertionGuard guard(graph, call);
    ASSIGN_OR_RETURN(const Argument value, replace(call));
    if (value.is_node() && value.node() == call) continue;
    bool is_new = false;
    for (Node* made = call->prev(); made != before; made = made->prev()) {
      made->set_location(call->location());
      made->set_module_path(call->module_path());
      is_new |= value.is_node() && made == value.node();
    }
    if (is_new && value.node()->meta() == nullptr) value.node()->set_meta(call->meta());
    ReplaceUsesWithValue(call, value);
    const std::string name(call->name());
    graph->EraseNode(call);
    if (is_new) value.node()->set_name(name);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Module>> Transform(
    const Module& module, absl::FunctionRef<absl::StatusOr<Argument>(Node* call)> replace) {
  std::unique_ptr<Module> copy = module.Clone();
  for (Graph* graph : copy->graphs()) RETURN_IF_ERROR(TransformGraph(graph, replace));
  return copy;
}

}  // namespace graphnet
