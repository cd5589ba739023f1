#include "graphnet/facts/memory/effects.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/lowering.h"

namespace graphnet {
namespace {

// Appends the elements of `more` that `nodes` lacks, in their order. O(nodes + more).
void AddOnce(absl::Span<const Node* const> more, std::vector<const Node*>* nodes) {
  constexpr size_t kFew = 16;
  if (nodes->size() + more.size() <= kFew) {
    for (const Node* node : more) {
      if (!absl::c_linear_search(*nodes, node)) nodes->push_back(node);
    }
    return;
  }
  absl::flat_hash_set<const Node*> seen(nodes->begin(), nodes->end());
  for (const Node* node : more) {
    if (seen.insert(node).second) nodes->push_back(node);
  }
}

// Returns whether an operator with a training mode is called outside of that mode. `call` must be
// in canonical form.
bool IsForInference(const Node& call, const Schema& schema) {
  const Argument* value = schema.Given(call, "train");
  if (value == nullptr) value = schema.Given(call, "training");
  return value != nullptr && value->is_bool() && !value->boolean();
}

// Returns whether the call has a dropout probability of 0, as attention mostly does.
bool DropsNothing(const Node& call, const Schema& schema) {
  const int i = schema.IndexOf("dropout_p");
  if (i < 0) return false;
  const Argument* given = schema.Given(call, static_cast<size_t>(i));
  const Argument& p =
      given != nullptr ? *given : schema.arguments[static_cast<size_t>(i)].default_value;
  return (p.is_float() && p.real() == 0) || (p.is_int() && p.integer() == 0);
}

class Analysis {
 public:
  explicit Analysis(const Module& module, NodeTable<CallEffects>* effects) : effects_(*effects) {
    absl::StatusOr<LoweredModule> lowered = LowerToAten(module, &refused_);
    lowered_ = *std::move(lowered);
    for (const Graph* graph : module.graphs()) {
      for (const Node* node : graph->nodes()) {
        if (node->is_call()) AddUnlowered(*node);
      }
    }
    for (const Graph* graph : lowered_.module->graphs()) AddGraph(*graph);
  }

 private:
  // Effects of calling a graph.
  struct GraphEffects {
    bool is_random = false;
    bool is_statement = false;
    // The body may write to its operands.
    bool is_unknown = false;
  };

  // Visits each graph once. Bodies are visited before the calls that run them.
  GraphEffects AddGraph(const Graph& graph) {
    if (const auto it = done_.find(&graph); it != done_.end()) return it->second;
    for (const Node* call : graph.nodes()) {
      if (call->is_call()) AddLowered(*call);
    }
    GraphEffects all;
    for (const Node* node : graph.nodes()) {
      const CallEffects& of = effects_[lowered_.origins[node]];
      all.is_random |= of.is_random;
      all.is_statement |= of.is_statement;
      all.is_unknown |= of.is_unknown || !of.mutates.empty();
    }
    done_[&graph] = all;
    return all;
  }

  // Adds the effects of a call that is unknown, or that was lowered to no operator.
  void AddUnlowered(const Node& node) {
    if (refused_.contains(&node)) {
      CallEffects& effects = effects_[&node];
      effects.is_unknown = true;
      AddAllOperands(node, &effects.aliases);
      return;
    }
    const Argument& value = lowered_.values[&node];
    if (value.is_none()) effects_[&node].is_statement = true;
    // Its value is that of another call, as for dropout that does nothing and for x.to(dtype).
    if (value.is_node()) {
      const Node* origin = lowered_.origins[value.node()];
      if (origin != &node) AddOnce({origin}, &effects_[&node].aliases);
    }
  }

  // Adds the effects of a lowered call to the original node that it was made for.
  void AddLowered(const Node& call) {
    const Node* origin = lowered_.origins[&call];
    if (refused_.contains(origin)) return;
    CallEffects effects;
    const Callable callee = CalleeOf(call);
    if (call.HasBody()) {
      AddBodies(call, &effects);
    } else if (callee.kind == Callable::Kind::kOperator && callee.names_overload) {
      AddSchema(call, callee.overloads[0], &effects);
    } else if (callee.kind == Callable::Kind::kPythonOperator) {
      if (callee.python_operator->is_in_place) {
        AddOperands(call.args()[0], &effects.mutates);
        AddOperands(call.args()[0], &effects.aliases);
      } else {
        AddAllOperands(call, &effects.aliases);
      }
    } else if (callee.kind == Callable::Kind::kFunction) {
      AddFunction(call, callee.overloads[0], &effects);
    } else if (absl::EndsWith(call.target(), "Construct")) {  // TorchScript's lists and dicts
      AddAllOperands(call, &effects.aliases);
    } else {
      effects.is_unknown = true;
      AddAllOperands(call, &effects.aliases);
    }
    Merge(call, *origin, effects);
  }

  // Adds the effects of a Python function that stays a call.
  static void AddFunction(const Node& call, const Schema& function, CallEffects* effects) {
    effects->is_statement = function.is_statement;
    effects->is_random = function.IndexOf("training") >= 0 && !IsForInference(call, function);
    if (function.may_alias) AddAllOperands(call, &effects->aliases);
  }

  void AddSchema(const Node& call, const Schema& schema, CallEffects* effects) {
    const bool inference = IsForInference(call, schema);
    effects->is_random = schema.is_random && !inference && !DropsNothing(call, schema);
    const bool declares_alias =
        absl::c_any_of(schema.returns, [](const SchemaType& type) { return type.is_alias; });
    for (size_t i = 0; i < schema.arguments.size(); ++i) {
      const Argument* value = schema.Given(call, i);
      if (value == nullptr) continue;
      const SchemaArgument& argument = schema.arguments[i];
      // Normalisation in training updates its running statistics.
      const bool is_updated =
          schema.updates_statistics && !inference && absl::StartsWith(argument.name, "running_");
      if (argument.type.is_mutated || is_updated) AddOperands(*value, &effects->mutates);
      if ((declares_alias && argument.type.is_alias) || schema.may_alias) {
        AddOperands(*value, &effects->aliases);
      }
    }
    if (schema.is_statement || (schema.returns.empty() && effects->mutates.empty()))
      effects->is_statement = true;
  }

  void AddBodies(const Node& call, CallEffects* effects) {
    AddAllOperands(call, &effects->aliases);
    call.ForEachArgument([&](const Argument& argument) {
      if (!argument.is_graph()) return;
      const GraphEffects of = AddGraph(*argument.graph());
      effects->is_random |= of.is_random;
      effects->is_statement |= of.is_statement;
      effects->is_unknown |= of.is_unknown;
    });
  }

  static void AddOperands(const Argument& argument, std::vector<const Node*>* nodes) {
    absl::InlinedVector<const Node*, 8> operands;
    ForEachArgument(argument, [&](const Argument& a) {
      if (a.is_node()) operands.push_back(a.node());
    });
    AddOnce(operands, nodes);
  }
  static void AddAllOperands(const Node& call, std::vector<const Node*>* nodes) {
    absl::InlinedVector<const Node*, 8> operands;
    call.ForEachOperand([&](const Node* operand) { operands.push_back(operand); });
    AddOnce(operands, nodes);
  }

  // Adds the effects of a lowered call in terms of the original nodes.
  void Merge(const Node& call, const Node& origin, const CallEffects& made) {
    // If a call shares memory with nodes that were made for the same origin, it shares memory with
    // whatever they share.
    const auto to_originals = [&](const std::vector<const Node*>& nodes) {
      absl::InlinedVector<const Node*, 8> all;
      for (const Node* node : nodes) {
        const Node* from = lowered_.origins[node];
        if (from != &origin) {
          all.push_back(from);
        } else {
          absl::c_copy(inner_aliases_[node], std::back_inserter(all));
        }
      }
      std::vector<const Node*> originals;
      AddOnce(all, &originals);
      return originals;
    };
    std::vector<const Node*> aliases = to_originals(made.aliases);
    const std::vector<const Node*> mutates = to_originals(made.mutates);
    const Argument& value = lowered_.values[&origin];
    bool is_value = false;
    ForEachArgument(value,
                    [&](const Argument& a) { is_value |= a.is_node() && a.node() == &call; });
    const bool any = made.is_unknown || made.is_random || made.is_statement || !mutates.empty() ||
                     (is_value && !aliases.empty());
    if (any) {
      CallEffects& effects = effects_[&origin];
      effects.is_unknown |= made.is_unknown;
      effects.is_random |= made.is_random;
      effects.is_statement |= made.is_statement;
      AddOnce(mutates, &effects.mutates);
      if (is_value) AddOnce(aliases, &effects.aliases);
    }
    inner_aliases_[&call] = std::move(aliases);
  }

  NodeTable<CallEffects>& effects_;
  absl::flat_hash_map<const Graph*, GraphEffects> done_;
  RefusedCalls refused_;
  LoweredModule lowered_;
  // For each lowered call, the original nodes that its value may share memory with.
  NodeTable<std::vector<const Node*>> inner_aliases_;
};

}  // namespace

std::string DescribeEffects(const CallEffects& effects) {
  std::vector<std::string> parts;
  if (effects.is_pure()) parts.emplace_back("pure");
  if (effects.is_unknown) parts.emplace_back("unknown");
  if (effects.is_random) parts.emplace_back("random");
  if (effects.is_statement) parts.emplace_back("statement");
  const auto add = [&parts](absl::string_view what, const std::vector<const Node*>& nodes) {
    if (nodes.empty()) return;
    parts.push_back(
        absl::StrCat(what, absl::StrJoin(nodes, " ", [](std::string* out, const Node* node) {
                       absl::StrAppend(out, "%", node->name());
                     })));
  };
  add("writes to ", effects.mutates);
  add("aliases ", effects.aliases);
  return absl::StrJoin(parts, ", ");
}

MemoryGroups::MemoryGroups(const Module& module, const Effects& effects)
    : roots_(module), written_(module) {
  // While roots_ is being built, it holds a union-find forest.
  const auto root_of = [this](const Node* node) {
    const Node* root = node;
    while (roots_[root] != nullptr) root = roots_[root];
    while (node != root) node = std::exchange(roots_[node], root);
    return root;
  };
  const auto for_each_node = [&](auto&& fn) {
    for (const Graph* graph : module.graphs()) {
      for (const Node* node : graph->nodes()) fn(node);
    }
  };
  for_each_node([&](const Node* node) {
    for (const Node* alias : effects.Of(*node).aliases) {
      const Node* const a = root_of(node);
      const Node* const b = root_of(alias);
      if (a != b) roots_[a] = b;
    }
  });
  for_each_node(root_of);
  for_each_node([&](const Node* node) {
    const CallEffects& of = effects.Of(*node);
    const auto write = [&](const Node* value) { written_[Of(value)] = true; };
    for (const Node* value : of.mutates) write(value);
    if (of.is_unknown) node->ForEachOperand(write);
  });
}

Effects::Effects(const Module& module) : effects_(module) { Analysis(module, &effects_); }

}  // namespace graphnet
