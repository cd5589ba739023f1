// Damage to operators and their arguments.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/decompose/regions.h"
#include "graphnet/ir/graph.h"
#include "tests/validate/damage.h"

namespace graphnet {

namespace {

using NodeChange = std::function<std::string(Random& random, Node* node)>;

// Tries operators in random order until one can be changed.
MutationKind OnOperator(const std::string& name, const NodeChange& change) {
  return {name,
          [change](Random& random, const Decomposition&, Decomposition* made) -> Damage {
            std::vector<std::pair<size_t, Node*>> operators;
            for (size_t i = 0; i < made->pieces.size(); ++i) {
              for (Node* node : GraphOf(made, i)->nodes()) {
                if (IsOperator(*node)) operators.push_back({i, node});
              }
            }
            std::shuffle(operators.begin(), operators.end(), random);
            for (const auto& [piece, node] : operators) {
              const std::string of = absl::StrCat(" of ", node->name(), " in piece ", piece);
              const std::string what = change(random, node);
              if (!what.empty()) return {absl::StrCat(what, of), static_cast<int>(piece)};
            }
            return {};
          },
          nullptr};
}

// Replaces the first constant in args or kwargs for which `change` returns another one.
using ConstantChange = std::function<std::optional<Argument>(const Argument& argument)>;

std::optional<Argument> ChangedIn(const Argument& argument, const ConstantChange& change) {
  if (const std::optional<Argument> changed = change(argument)) return changed;
  if (!argument.is_list() && !argument.is_tuple()) return std::nullopt;
  std::vector<Argument> elements(argument.elements().begin(), argument.elements().end());
  for (Argument& element : elements) {
    const std::optional<Argument> changed = ChangedIn(element, change);
    if (!changed.has_value()) continue;
    element = *changed;
    // The node copies the elements at once.
    static thread_local std::vector<std::unique_ptr<std::vector<Argument>>> keep;
    keep.push_back(std::make_unique<std::vector<Argument>>(std::move(elements)));
    return argument.is_list() ? Argument::List(*keep.back()) : Argument::Tuple(*keep.back());
  }
  return std::nullopt;
}

bool ChangeArgument(Node* node, const ConstantChange& change) {
  std::vector<Argument> args(node->args().begin(), node->args().end());
  for (Argument& arg : args) {
    if (const std::optional<Argument> changed = ChangedIn(arg, change)) {
      arg = *changed;
      node->set_args(args);
      return true;
    }
  }
  return false;
}

bool ChangeKwarg(Node* node, const ConstantChange& change) {
  std::vector<KwArg> kwargs(node->kwargs().begin(), node->kwargs().end());
  for (KwArg& kwarg : kwargs) {
    if (const std::optional<Argument> changed = ChangedIn(kwarg.value, change)) {
      kwarg.value = *changed;
      node->set_kwargs(kwargs);
      return true;
    }
  }
  return false;
}

NodeChange Constant(const std::string& what, const ConstantChange& change) {
  return [what, change](Random&, Node* node) {
    return ChangeArgument(node, change) || ChangeKwarg(node, change)
               ? absl::StrCat("changed ", what)
               : std::string();
  };
}

}  // namespace

std::vector<MutationKind> OperatorDamage() {
  std::vector<MutationKind> kinds;
  const auto add = [&](MutationKind kind) { kinds.push_back(std::move(kind)); };
  add(OnOperator("operator dropped", [](Random&, Node* node) -> std::string {
    const std::vector<Node*> operands = node->operands();
    if (node->has_uses() && operands.empty()) return "";
    if (node->has_uses()) node->ReplaceAllUsesWith(operands[0]);
    Module* module = node->graph()->module();
    node->graph()->EraseNode(node);
    module->EraseUnusedGraphs();
    return "dropped the operator";
  }));
  add(OnOperator("operator added", [](Random& random, Node* node) -> std::string {
    if (!node->has_uses() || node->op() == Op::kGetAttr) return "";
    Graph* graph = node->graph();
    const InsertionGuard guard(graph, node->next());
    Node* added = graph->CallFunction(Below(random, 2) == 0 ? "torch.relu" : "torch.neg", {node});
    node->ReplaceUsesWithIf(added, [&](Node* user) { return user != added; });
    return "added an operator after the one";
  }));
  add(OnOperator("dead operator added", [](Random&, Node* node) -> std::string {
    const InsertionGuard guard(node->graph(), node->next());
    node->graph()->CallFunction("torch.relu", {node});
    return "added a dead operator";
  }));
  add(OnOperator("operator doubled", [](Random&, Node* node) -> std::string {
    if (node->op() == Op::kGetAttr) return "";
    const InsertionGuard guard(node->graph(), node->next());
    node->graph()->CopyNodeFrom(*node, [](Node* operand) { return operand; });
    return "doubled the operator";
  }));
  add(OnOperator("operator changed", [](Random&, Node* node) -> std::string {
    if (node->op() == Op::kGetAttr) return "";
    node->set_target(node->op() == Op::kCallMethod ? absl::StrCat(node->target(), "_as")
                                                   : "torch.sigmoid");
    return "changed the target";
  }));
  add(OnOperator("operators reordered", [](Random&, Node* node) -> std::string {
    Node* next = node->next();
    if (!IsOperator(*next) || next->target() == node->target()) return "";
    const std::vector<Node*> operands = next->operands();
    if (std::find(operands.begin(), operands.end(), node) != operands.end()) return "";
    node->graph()->MoveBefore(next, node);
    return "moved the operator behind";
  }));
  add(OnPieces("boundary moved by one",
               [](Random& random, const Decomposition&, Decomposition* made) -> Damage {
                 if (made->pieces.size() < 2) return {};
                 // Pretend that the configuration has another cut, which its scheme would not give.
                 const size_t i = Below(random, made->pieces.size() - 1);
                 const int64_t by = Below(random, 2) == 0 ? 1 : -1;
                 made->config.subgraphs[i].range.end += by;
                 made->config.subgraphs[i + 1].range.start += by;
                 for (const size_t k : {i, i + 1}) {
                   const Range& range = made->config.subgraphs[k].range;
                   if (range.start >= range.end) return {};
                   made->pieces[k].provenance[0].start = range.start;
                   made->pieces[k].provenance[0].end = range.end;
                 }
                 return {absl::StrCat("boundary after piece ", i, " moved"), static_cast<int>(i)};
               }));

  add(OnOperator("integer changed",
                 Constant("an integer", [](const Argument& a) -> std::optional<Argument> {
                   if (!a.is_int()) return std::nullopt;
                   return Argument(a.integer() + 1);
                 })));
  add(OnOperator("float changed",
                 Constant("a float", [](const Argument& a) -> std::optional<Argument> {
                   if (!a.is_float()) return std::nullopt;
                   return Argument(a.real() == 0 ? 1e-12 : a.real() * (1 + 1e-9) + 1e-300);
                 })));
  add(OnOperator("integer for float", Constant("a float to an integer",
                                               [](const Argument& a) -> std::optional<Argument> {
                                                 if (!a.is_float() || a.real() != 1.0)
                                                   return std::nullopt;
                                                 return Argument(int64_t{1});
                                               })));
  add(OnOperator("bool changed",
                 Constant("a bool", [](const Argument& a) -> std::optional<Argument> {
                   if (!a.is_bool()) return std::nullopt;
                   return Argument(!a.boolean());
                 })));
  add(OnOperator("None changed",
                 Constant("a None", [](const Argument& a) -> std::optional<Argument> {
                   if (!a.is_none()) return std::nullopt;
                   return Argument(int64_t{0});
                 })));
  add(OnOperator("string changed",
                 Constant("a string", [](const Argument& a) -> std::optional<Argument> {
                   if (!a.is_string()) return std::nullopt;
                   return Argument(absl::string_view("other"));
                 })));
  add(OnOperator("dtype literal changed",
                 Constant("a dtype", [](const Argument& a) -> std::optional<Argument> {
                   if (a.kind() != Argument::Kind::kDType) return std::nullopt;
                   return Argument(a.dtype() == DType::kFloat64 ? DType::kFloat32
                                                                : DType::kFloat64);
                 })));
  add(OnOperator("list shortened", [](Random&, Node* node) -> std::string {
    return ChangeArgument(node,
                          [](const Argument& a) -> std::optional<Argument> {
                            if ((!a.is_list() && !a.is_tuple()) || a.elements().size() < 2)
                              return std::nullopt;
                            const auto shorter = a.elements().subspan(0, a.elements().size() - 1);
                            return a.is_list() ? Argument::List(shorter) : Argument::Tuple(shorter);
                          })
               ? "shortened a list"
               : "";
  }));
  add(OnOperator("argument added", [](Random&, Node* node) -> std::string {
    if (!node->is_call()) return "";
    std::vector<Argument> args(node->args().begin(), node->args().end());
    args.push_back(int64_t{1});
    node->set_args(args);
    return "added an argument";
  }));
  add(OnOperator("argument dropped", [](Random&, Node* node) -> std::string {
    if (node->args().size() < 2) return "";
    node->set_args(std::vector<Argument>(node->args().begin(), node->args().end() - 1));
    return "dropped the last argument";
  }));
  add(OnOperator("operands swapped", [](Random&, Node* node) -> std::string {
    const std::vector<Node*> operands = node->operands();
    for (size_t k = 1; k < operands.size(); ++k) {
      if (operands[k] == operands[0]) continue;
      node->SetOperand(0, operands[k]);
      node->SetOperand(static_cast<int>(k), operands[0]);
      return "swapped operands";
    }
    return "";
  }));
  add(OnOperator("operand rewired", [](Random& random, Node* node) -> std::string {
    const std::vector<Node*> operands = node->operands();
    if (operands.empty()) return "";
    std::vector<Node*> others;
    for (Node* other : node->graph()->nodes()) {
      if (other == node) break;
      if (other != operands[0]) others.push_back(other);
    }
    if (others.empty()) return "";
    node->SetOperand(0, Any(random, others));
    return "rewired operand 0";
  }));
  add(OnOperator("keyword argument changed", [](Random&, Node* node) -> std::string {
    return ChangeKwarg(node,
                       [](const Argument& a) -> std::optional<Argument> {
                         if (a.is_int()) return Argument(a.integer() - 1);
                         if (a.is_bool()) return Argument(!a.boolean());
                         if (a.is_float()) return Argument(a.real() + 0.5);
                         return std::nullopt;
                       })
               ? "changed a keyword argument"
               : "";
  }));
  add(OnOperator("keyword argument renamed", [](Random&, Node* node) -> std::string {
    std::vector<KwArg> kwargs(node->kwargs().begin(), node->kwargs().end());
    if (kwargs.empty()) return "";
    kwargs[0].name = "renamed";
    node->set_kwargs(kwargs);
    return "renamed a keyword argument";
  }));
  add(OnOperator("keyword argument dropped", [](Random&, Node* node) -> std::string {
    if (node->kwargs().empty()) return "";
    node->set_kwargs(std::vector<KwArg>(node->kwargs().begin() + 1, node->kwargs().end()));
    return "dropped a keyword argument";
  }));
  add(OnOperator("operator's meta changed", [](Random&, Node* node) -> std::string {
    TensorMeta meta;
    meta.dtype = DType::kComplex128;
    if (node->tensor_meta() != nullptr && *node->tensor_meta() == meta) return "";
    node->set_meta(node->graph()->module()->InternValueMeta(meta));
    return "changed the meta";
  }));
  return kinds;
}

}  // namespace graphnet
