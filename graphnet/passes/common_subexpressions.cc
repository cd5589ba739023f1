#include "graphnet/passes/common_subexpressions.h"

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/arena.h"
#include "graphnet/facts/memory/effects.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/passes/pass.h"

namespace graphnet {
namespace {

void AppendKey(const Argument& argument, std::string* key) {
  if (argument.is_node()) {
    absl::StrAppend(key, "%", argument.node()->index());
  } else if (argument.is_aggregate()) {
    absl::StrAppend(key, static_cast<int>(argument.kind()), "(");
    for (const Argument& element : argument.elements()) {
      AppendKey(element, key);
      key->push_back(',');
    }
    key->push_back(')');
  } else {
    AppendArgument(argument, key);
  }
}

// Appends the call as it is written, with its operands as numbers.
void AppendKey(const Node& node, std::string* key) {
  absl::StrAppend(key, node.op() == Op::kCallMethod ? "." : " ", node.target());
  for (const Argument& argument : node.args()) {
    key->push_back(',');
    AppendKey(argument, key);
  }
  for (const KwArg& kwarg : node.kwargs()) {
    absl::StrAppend(key, ",", kwarg.name, "=");
    AppendKey(kwarg.value, key);
  }
}

size_t RunOn(Graph* graph, const Effects& effects, const MemoryGroups& groups) {
  Arena keys;
  absl::flat_hash_map<absl::string_view, Node*> first;  // by key
  std::string key;
  size_t mode = 0;
  size_t erased = 0;
  for (Node* node : graph->nodes()) {
    if (!node->is_call() && node->op() != Op::kGetAttr) continue;
    const CallEffects& of = effects.Of(*node);
    mode += of.is_statement || of.is_unknown ? 1 : 0;
    if (!of.is_pure() || node->HasBody() || groups.IsWritten(node)) continue;
    bool reads_written = false;
    node->ForEachOperand([&](const Node* operand) { reads_written |= groups.IsWritten(operand); });
    if (reads_written) continue;
    key.clear();
    absl::StrAppend(&key, node->op() == Op::kGetAttr ? 0 : mode);
    AppendKey(*node, &key);
    const auto it = first.find(key);
    if (it == first.end()) {
      first.emplace(keys.Copy(key), node);
      continue;
    }
    if (it->second->op() != node->op()) continue;
    if (it->second->meta() == nullptr) it->second->set_meta(node->meta());
    node->ReplaceAllUsesWith(it->second);
    graph->EraseNode(node);
    ++erased;
  }
  return erased;
}

}  // namespace

absl::StatusOr<bool> EliminateCommonSubexpressions(Module* module, PassRun& run) {
  const Effects effects(*module);
  const MemoryGroups groups(*module, effects);
  size_t erased = 0;
  for (Graph* graph : module->graphs()) erased += RunOn(graph, effects, groups);
  if (erased > 0) run.Note("calls replaced by an equal earlier one", erased);
  return erased > 0;
}

namespace {

const RegisteredPass kCommonSubexpressionsPass("cse", "common_subexpressions.h",
                                               EliminateCommonSubexpressions);

}  // namespace

}  // namespace graphnet
