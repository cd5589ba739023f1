#include "graphnet/passes/expand_fused.h"

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/graph_copier.h"
#include "graphnet/ops/fused.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/passes/pass.h"

namespace graphnet {
namespace {

absl::Status ExpandCall(Node* call) {
  // Copy the call into its own module, with its operands as placeholders.
  Module alone;
  Graph* const graph = alone.AddGraph("call");
  absl::flat_hash_map<const Node*, Node*> operands, originals;
  for (Node* operand : call->operands()) {
    if (operands.contains(operand)) continue;
    Node* const parameter = graph->Placeholder(operand->name());
    parameter->set_annotation(operand->annotation());
    operands[operand] = parameter;
    originals[parameter] = operand;
  }
  Node* const copy = graph->CopyNodeFrom(
      *call, [&](Node* node) { return operands.at(node); }, [](Graph* body) { return body; });
  graph->Output(copy);
  ASSIGN_OR_RETURN(const LoweredModule lowered, LowerToAten(alone));

  GraphCopier bodies(call->graph()->module());
  const InsertionGuard guard(call->graph(), call);
  absl::flat_hash_map<const Node*, Node*> made;
  for (Node* node : lowered.module->main()->nodes()) {
    if (node->is_placeholder()) {
      made[node] = originals.at(lowered.origins[node]);
    } else if (node->is_call()) {
      Node* const written = call->graph()->CopyNodeFrom(
          *node, [&](Node* operand) { return made.at(operand); },
          [&](Graph* body) { return bodies.CopyOf(body); });
      written->set_location(call->location());
      written->set_module_path(call->module_path());
      made[node] = written;
    }
  }
  bodies.Finish();
  Node* const value = made.at(lowered.values[copy].node());
  const std::string name(call->name());
  value->set_meta(call->meta());
  call->ReplaceAllUsesWith(value);
  call->graph()->EraseNode(call);
  value->set_name(name);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> ExpandFused(Module* module, PassRun& run) {
  std::vector<Node*> calls;
  for (const Graph* graph : module->graphs()) {
    for (Node* node : graph->nodes()) {
      if (IsFusedCall(*node)) calls.push_back(node);
    }
  }
  for (Node* call : calls) RETURN_IF_ERROR(ExpandCall(call));
  if (!calls.empty()) run.Note("calls of fused operators written out", calls.size());
  return !calls.empty();
}

namespace {

const RegisteredPass kExpandFusedPass("expand-fused", "expand_fused.h", ExpandFused);

}  // namespace

}  // namespace graphnet
