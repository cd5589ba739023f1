#include "graphnet/passes/remove_aliases.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "graphnet/base/status.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/ops/schema_table.h"

namespace graphnet {
namespace {

// What a dropout outside of training is called with; null for any other call.
const Node* InputOfIdleDropout(const Node& call) {
  if (!absl::StrContains(call.target(), "dropout")) return nullptr;
  const Schema* schema = FindOverload(call.target());
  if (schema == nullptr || schema->returns.size() != 1 || call.args().empty() ||
      !call.args()[0].is_node()) {
    return nullptr;
  }
  for (size_t i = 0; i < schema->arguments.size(); ++i) {
    if (schema->arguments[i].name != "train") continue;
    const Argument* train = i < call.args().size() ? &call.args()[i] : call.kwarg("train");
    if (train != nullptr && train->is_bool() && !train->boolean()) return call.args()[0].node();
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<bool> RemoveAliases(Module* module, PassRun& run) {
  RefusedCalls refused;
  ASSIGN_OR_RETURN(const LoweredModule lowered, LowerToAten(*module, &refused));
  // A node that an operator was made for does more than hand on a value.
  absl::flat_hash_set<const Node*> makes_calls;
  absl::flat_hash_map<const Node*, const Node*> idle;  // dropouts, and what they yield
  for (const Graph* graph : lowered.module->graphs()) {
    for (const Node* call : graph->nodes()) {
      if (!call->is_call()) continue;
      if (const Node* input = InputOfIdleDropout(*call)) {
        const auto it = idle.find(input);
        idle[call] = it == idle.end() ? input : it->second;
      } else {
        makes_calls.insert(lowered.origins.at(call));
      }
    }
  }
  std::vector<std::pair<Node*, const Node*>> aliases;
  for (Graph* graph : module->graphs()) {
    for (Node* node : graph->nodes()) {
      if (!node->is_call() || makes_calls.contains(node)) continue;
      const Argument& value = lowered.values.at(node);
      if (!value.is_node()) continue;
      const auto it = idle.find(value.node());
      const Node* yielded = it == idle.end() ? value.node() : it->second;
      const Node* origin = lowered.origins.at(yielded);
      const Argument& original = lowered.values.at(origin);
      if (origin != node && original.is_node() && original.node() == yielded)
        aliases.emplace_back(node, origin);
    }
  }
  size_t removed = 0;
  for (const auto& [node, origin] : aliases) {
    Node* found = nullptr;  // `origin`, which may be changed: it is among the operands' operands.
    node->ForEachOperand([&](Node* operand) { found = operand == origin ? operand : found; });
    if (found == nullptr) continue;
    node->ReplaceAllUsesWith(found);
    node->graph()->EraseNode(node);
    ++removed;
  }
  if (removed > 0) run.Note("calls that yield what they are given removed", removed);
  return removed > 0;
}

}  // namespace graphnet
