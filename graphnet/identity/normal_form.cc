#include "graphnet/identity/normal_form.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graphnet/base/status.h"
#include "graphnet/identity/canonical_calls.h"
#include "graphnet/identity/partial_evaluation.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/ops/effects.h"
#include "graphnet/passes/dead_code.h"
#include "graphnet/passes/pipeline.h"

namespace graphnet {
namespace {

// Puts the nodes of each graph into the order in which what it returns asks for them, operands
// first, so that the order of independent nodes is the same whatever it was. What has effects,
// and what reads or writes memory that is written to, keeps its order.
class Order {
 public:
  explicit Order(Module* module) : module_(*module), effects_(*module), groups_(*module, effects_) {
    written_ = NodeTable<bool>(*module);
    for (const Graph* graph : module->graphs()) {
      for (const Node* node : graph->nodes()) {
        const CallEffects& of = effects_.Of(*node);
        for (const Node* value : of.mutates) written_[groups_.Of(value)] = true;
        if (!of.is_unknown) continue;
        node->ForEachOperand([&](const Node* value) { written_[groups_.Of(value)] = true; });
      }
    }
  }

  void Run() {
    for (Graph* graph : module_.graphs()) Sort(graph);
  }

 private:
  bool Counts(const Node& node) const {
    if (!node.is_call()) return false;
    bool counts = !effects_.Of(node).is_pure();
    node.ForEachOperand([&](const Node* value) { counts |= written_[groups_.Of(value)]; });
    return counts;
  }

  void Sort(Graph* graph) {
    NodeTable<Node*> before(module_);  // what counts and stands right before
    std::vector<Node*> roots;
    Node* last = nullptr;
    for (Node* node : graph->nodes()) {
      if (!Counts(*node)) continue;
      before[node] = last;
      last = node;
      if (!effects_.Of(*node).is_pure()) roots.push_back(node);
    }
    if (graph->output() != nullptr) {
      before[graph->output()] = nullptr;
      roots.push_back(graph->output());
    }
    NodeTable<bool> done(module_);
    std::vector<Node*> sorted;
    struct Open {
      Node* node;
      std::vector<Node*> operands;
      size_t next = 0;
    };
    std::vector<Open> open;
    const auto enter = [&](Node* node) {
      if (node->is_placeholder() || done[node]) return;
      done[node] = true;
      std::vector<Node*> operands;
      if (before[node] != nullptr) operands.push_back(before[node]);
      node->ForEachOperand([&](Node* operand) { operands.push_back(operand); });
      open.push_back({node, std::move(operands)});
    };
    for (Node* root : roots) {
      enter(root);
      while (!open.empty()) {
        Open& top = open.back();
        if (top.next < top.operands.size()) {
          enter(top.operands[top.next++]);
        } else {
          sorted.push_back(top.node);
          open.pop_back();
        }
      }
    }
    for (Node* node : sorted) graph->MoveBefore(node, nullptr);
    // What nobody asked for.
    std::vector<Node*> dead;
    for (Node* node : graph->nodes()) {
      if (!node->is_placeholder() && !done[node]) dead.push_back(node);
    }
    for (auto it = dead.rbegin(); it != dead.rend(); ++it) graph->EraseNode(*it);
  }

  Module& module_;
  const Effects effects_;
  const MemoryGroups groups_;
  NodeTable<bool> written_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Module>> NormalForm(const Module& module) {
  std::unique_ptr<Module> made = module.Clone();
  ASSIGN_OR_RETURN(const Pipeline first, ParsePipeline("torch-to-aten,dce,canonical-arguments"));
  RETURN_IF_ERROR(RunPipeline(first, made.get()).status());
  ASSIGN_OR_RETURN(made, PartiallyEvaluate(*made));
  // Before the rules, which look at memory: what is dead reads none.
  EliminateDeadCode(made.get());
  CanonicalizeCalls(made.get());
  ASSIGN_OR_RETURN(const Pipeline last, ParsePipeline("cse,dce"));
  RETURN_IF_ERROR(RunPipeline(last, made.get()).status());
  Order(made.get()).Run();
  made->EraseUnusedGraphs();
  RETURN_IF_ERROR(Verify(*made));
  return made;
}

}  // namespace graphnet
