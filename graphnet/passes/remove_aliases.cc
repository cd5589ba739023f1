#include "graphnet/passes/remove_aliases.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/passes/pass.h"

namespace graphnet {
namespace {

// Returns the operand of a dropout outside of training; null for any other call.
const Node* InputOfIdleDropout(const Node& call) {
  if (!absl::StrContains(call.target(), "dropout")) return nullptr;
  const Schema* schema = FindOverload(call.target());
  if (schema == nullptr || schema->returns.size() != 1 || call.args().empty() ||
      !call.args()[0].is_node()) {
    return nullptr;
  }
  const Argument* train = schema->Given(call, "train");
  const bool is_idle = train != nullptr && train->is_bool() && !train->boolean();
  return is_idle ? call.args()[0].node() : nullptr;
}

}  // namespace

absl::StatusOr<bool> RemoveAliases(Module* module, PassRun& run) {
  RefusedCalls refused;
  ASSIGN_OR_RETURN(const LoweredModule lowered, LowerToAten(*module, &refused));
  // A node that was lowered to calls does more than return a value.
  NodeTable<bool> makes_calls(*module);
  NodeTable<const Node*> idle(*lowered.module);  // of dropouts, the values that they return
  for (const Graph* graph : lowered.module->graphs()) {
    for (const Node* call : graph->nodes()) {
      if (!call->is_call()) continue;
      if (const Node* input = InputOfIdleDropout(*call)) {
        idle[call] = idle[input] == nullptr ? input : idle[input];
      } else {
        makes_calls[lowered.origins[call]] = true;
      }
    }
  }
  std::vector<std::pair<Node*, const Node*>> aliases;
  for (Graph* graph : module->graphs()) {
    for (Node* node : graph->nodes()) {
      if (!node->is_call() || makes_calls[node]) continue;
      const Argument& value = lowered.values[node];
      if (!value.is_node()) continue;
      const Node* yielded = idle[value.node()] == nullptr ? value.node() : idle[value.node()];
      const Node* origin = lowered.origins[yielded];
      const Argument& original = lowered.values[origin];
      if (origin != node && original.is_node() && original.node() == yielded)
        aliases.emplace_back(node, origin);
    }
  }
  size_t removed = 0;
  for (const auto& [node, origin] : aliases) {
    Node* found = nullptr;  // the non-const `origin`, found among the operands
    node->ForEachOperand([&](Node* operand) { found = operand == origin ? operand : found; });
    if (found == nullptr) continue;
    node->ReplaceAllUsesWith(found);
    node->graph()->EraseNode(node);
    ++removed;
  }
  if (removed > 0) run.Note("calls that return an operand unchanged are removed", removed);
  return removed > 0;
}

namespace {

const RegisteredPass kRemoveAliasesPass("remove-aliases", "remove_aliases.h", RemoveAliases);

}  // namespace

}  // namespace graphnet
