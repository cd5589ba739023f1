#include "graphnet/passes/common_subexpressions.h"

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graphnet/ops/effects.h"
#include "graphnet/text/printer.h"

namespace graphnet {
namespace {

// Values that may share memory, joined.
class MemoryGroups {
 public:
  const Node* Find(const Node* node) {
    const Node* root = node;
    for (auto it = parents_.find(root); it != parents_.end(); it = parents_.find(root))
      root = it->second;
    while (node != root) {
      const Node*& parent = parents_[node];
      node = parent;
      parent = root;
    }
    return root;
  }
  void Join(const Node* a, const Node* b) {
    a = Find(a);
    b = Find(b);
    if (a != b) parents_[a] = b;
  }

 private:
  absl::flat_hash_map<const Node*, const Node*> parents_;  // none: a root
};

// The call as it is written, with operands by number.
class CallKey {
 public:
  std::string Of(const Node& node, size_t mode) {
    std::string key = absl::StrCat(mode, node.op() == Op::kCallMethod ? "." : " ", node.target());
    for (const Argument& argument : node.args()) {
      key.push_back(',');
      Append(argument, &key);
    }
    for (const KwArg& kwarg : node.kwargs()) {
      absl::StrAppend(&key, ",", kwarg.name, "=");
      Append(kwarg.value, &key);
    }
    return key;
  }

 private:
  void Append(const Argument& argument, std::string* key) {
    if (argument.is_node()) {
      absl::StrAppend(key, "%",
                      numbers_.try_emplace(argument.node(), numbers_.size()).first->second);
    } else if (argument.is_aggregate()) {
      absl::StrAppend(key, static_cast<int>(argument.kind()), "(");
      for (const Argument& element : argument.elements()) {
        Append(element, key);
        key->push_back(',');
      }
      key->push_back(')');
    } else if (argument.is_float()) {
      // By bits: -0.0 is not 0.0.
      uint64_t bits = 0;
      const double real = argument.real();
      static_assert(sizeof(bits) == sizeof(real));
      __builtin_memcpy(&bits, &real, sizeof(bits));
      absl::StrAppend(key, "f", bits);
    } else {
      AppendArgument(argument, key);
    }
  }
  absl::flat_hash_map<const Node*, size_t> numbers_;
};

bool HasBody(const Node& node) {
  bool has = false;
  for (const Argument& a : node.args()) has |= a.is_graph();
  for (const KwArg& a : node.kwargs()) has |= a.value.is_graph();
  return has;
}

size_t RunOn(Graph* graph, const Effects& effects) {
  MemoryGroups groups;
  for (const Node* node : graph->nodes()) {
    for (const Node* alias : effects.Of(*node).aliases) groups.Join(node, alias);
  }
  absl::flat_hash_set<const Node*> written;  // groups
  for (const Node* node : graph->nodes()) {
    const CallEffects& of = effects.Of(*node);
    for (const Node* operand : of.mutates) written.insert(groups.Find(operand));
    if (of.is_unknown)
      node->ForEachOperand([&](const Node* operand) { written.insert(groups.Find(operand)); });
  }
  CallKey keys;
  absl::flat_hash_map<std::string, Node*> first;
  size_t mode = 0;
  size_t erased = 0;
  for (Node* node : graph->nodes()) {
    if (!node->is_call() && node->op() != Op::kGetAttr) continue;
    const CallEffects& of = effects.Of(*node);
    mode += of.is_statement || of.is_unknown ? 1 : 0;
    if (!of.is_pure() || HasBody(*node) || written.contains(groups.Find(node))) continue;
    bool reads_written = false;
    node->ForEachOperand(
        [&](const Node* operand) { reads_written |= written.contains(groups.Find(operand)); });
    if (reads_written) continue;
    const auto [it, is_new] =
        first.try_emplace(keys.Of(*node, node->op() == Op::kGetAttr ? 0 : mode), node);
    if (is_new) continue;
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
  size_t erased = 0;
  for (Graph* graph : module->graphs()) erased += RunOn(graph, effects);
  if (erased > 0) run.Note("calls computed once instead of again", erased);
  return erased > 0;
}

}  // namespace graphnet
