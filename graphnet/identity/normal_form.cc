#include "graphnet/identity/normal_form.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/memory/effects.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/ir/outline.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/passes/canonical_calls.h"
#include "graphnet/passes/dead_code.h"
#include "graphnet/passes/partial_evaluation/partial_evaluation.h"
#include "graphnet/passes/pipeline.h"

namespace graphnet {
namespace {

// Sorts the nodes of each graph in the order in which its outputs need them, operands first, so
// that the order of independent nodes does not depend on the input. Nodes with effects, and nodes
// that read or write memory that is written to, keep their order.
class Order {
 public:
  explicit Order(Module* module)
      : module_(*module), effects_(*module), groups_(*module, effects_) {}

  void Run() {
    for (Graph* graph : module_.graphs()) Sort(graph);
  }

 private:
  bool Counts(const Node& node) const {
    if (!node.is_call()) return false;
    bool counts = !effects_.Of(node).is_pure();
    node.ForEachOperand([&](const Node* value) { counts |= groups_.IsWritten(value); });
    return counts;
  }

  void Sort(Graph* graph) {
    NodeTable<Node*> before(module_);  // the ordered node right before each ordered one
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
    // Nodes that no output needs.
    std::vector<Node*> dead;
    for (Node* node : graph->nodes()) {
      if (!node->is_placeholder() && !done[node]) dead.push_back(node);
    }
    for (auto it = dead.rbegin(); it != dead.rend(); ++it) graph->EraseNode(*it);
  }

  Module& module_;
  const Effects effects_;
  const MemoryGroups groups_;
};

absl::Status FixInputs(const NormalFormOptions& options, Module* module) {
  for (const auto& [name, value] : options.constants) {
    Node* found = nullptr;
    for (Node* node : module->main()->placeholders()) found = node->target() == name ? node : found;
    if (found == nullptr) return absl::NotFoundError(absl::StrCat("there is no input ", name));
    ReplaceUsesWithValue(found, value);
    module->main()->EraseNode(found);
  }
  return absl::OkStatus();
}

// True if an input of the main graph was a parameter or buffer of the original program, as in
// GraphNet folders. It is recognised by its type, by its path (an input of a function has no dot in
// its name), by the name of the attribute that it was lifted from, or by the form in which Dynamo
// writes attributes of `self`.
bool IsWeight(const Node& input) {
  const DrawSpec* spec = input.draw_spec();
  return input.annotation() == "torch.nn.parameter.Parameter" ||
         (spec != nullptr &&
          (absl::StrContains(spec->original_name, '.') || spec->original_name == input.target())) ||
         (absl::StartsWith(input.target(), "L_self_") &&
          (absl::StrContains(input.target(), "_parameters_") ||
           absl::StrContains(input.target(), "_buffers_")));
}

// Turns lifted inputs back into attributes, because the position of a weight among the inputs has
// no meaning.
void WeightsToAttributes(Module* module) {
  Graph* graph = module->main();
  std::vector<Node*> weights;
  Node* first = nullptr;  // the first node behind the inputs
  for (Node* node : graph->nodes()) {
    if (!node->is_placeholder()) {
      first = node;
      break;
    }
    if (IsWeight(*node) && module->FindAttribute(node->target()) == nullptr)
      weights.push_back(node);
  }
  for (Node* node : weights) {
    DrawSpec spec = node->draw_spec() != nullptr ? *node->draw_spec() : DrawSpec();
    module->AddAttribute({.name = node->target(),
                          .meta = node->tensor_meta(),
                          .annotation = node->annotation(),
                          .draw_spec = node->draw_spec() != nullptr ? &spec : nullptr});
    const InsertionGuard guard(graph, first);
    Node* read = graph->GetAttr(node->target());
    read->set_meta(node->meta());
    node->ReplaceAllUsesWith(read);
    graph->EraseNode(node);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Module>> NormalForm(const Module& module,
                                                   const NormalFormOptions& options) {
  std::unique_ptr<Module> made = module.Clone();
  if (made->main() == nullptr) return absl::InvalidArgumentError("the module has no graph");
  RETURN_IF_ERROR(FixInputs(options, made.get()));
  WeightsToAttributes(made.get());
  ASSIGN_OR_RETURN(const Pipeline first, ParsePipeline("torch-to-aten,dce,canonical-arguments"));
  RETURN_IF_ERROR(RunPipeline(first, made.get()).status());
  ASSIGN_OR_RETURN(made, PartiallyEvaluate(*made));
  // Dead nodes are removed before the rules, which check memory: a dead node does not read any.
  EliminateDeadCode(made.get());
  ASSIGN_OR_RETURN(const Pipeline functionalize, ParsePipeline("functionalize,dce"));
  // A program that would become too large keeps its writes.
  if (std::unique_ptr<Module> values = made->Clone(); RunPipeline(functionalize, values.get()).ok())
    made = std::move(values);
  CanonicalizeCalls(made.get());
  ASSIGN_OR_RETURN(const Pipeline last, ParsePipeline("cse,dce"));
  RETURN_IF_ERROR(RunPipeline(last, made.get()).status());
  Order(made.get()).Run();
  made->EraseUnusedGraphs();
  RETURN_IF_ERROR(Verify(*made));
  return made;
}

}  // namespace graphnet
