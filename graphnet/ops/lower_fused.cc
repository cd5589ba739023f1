// Lowers calls of fused operators (fused.h): writes out the definition. A call with an operand that
// stands for each element of a list is written once per element.
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/graph_copier.h"
#include "graphnet/ops/adapters.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/fused.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/ops/wildcard.h"

namespace graphnet {
namespace {

// The values that the nodes of a definition stand for.
class Meanings {
 public:
  Meanings(const FusedCall& fused, Lowering* lowering) : fused_(fused), lowering_(*lowering) {}

  // Returns how many times the call is written.
  size_t Count(const Node& call) const {
    size_t count = 1;
    if (!fused_.rule->each.contains(&call)) return count;
    call.ForEachOperand([&](const Node* operand) {
      if (fused_.rule->each.contains(operand)) count = Of(operand).size();
    });
    return count;
  }
  // Returns whether all lists that the call takes element by element have `count` elements.
  bool Agree(const Node& call, size_t count) const {
    bool agree = true;
    call.ForEachOperand([&](const Node* operand) {
      agree &= !fused_.rule->each.contains(operand) || Of(operand).size() == count ||
               !fused_.rule->each.contains(&call);
    });
    return agree;
  }
  void Add(const Node& call, const Argument& value) { made_[&call].push_back(value); }
  // Returns the argument for the i-th time.
  Argument Map(const Argument& argument, size_t i) {
    if (argument.is_node()) {
      const absl::Span<const Argument> values = Of(argument.node());
      return values[fused_.rule->each.contains(argument.node()) ? i : 0];
    }
    if (!argument.is_aggregate()) return argument;
    std::vector<Argument> elements;
    for (const Argument& element : argument.elements()) {
      if (!IsSpread(element, fused_.rule->each)) {
        elements.push_back(Map(element, i));
        continue;
      }
      const absl::Span<const Argument> values = Of(element.node());
      elements.insert(elements.end(), values.begin(), values.end());
    }
    return Argument::Aggregate(argument.kind(),
                               lowering_.arena()->Copy(absl::MakeConstSpan(elements)));
  }

 private:
  absl::Span<const Argument> Of(const Node* node) const {
    return node->is_placeholder() ? fused_.parameters.at(node->name())
                                  : absl::MakeConstSpan(made_.at(node));
  }

  const FusedCall& fused_;
  Lowering& lowering_;
  absl::flat_hash_map<const Node*, std::vector<Argument>> made_;
};

// Emits a call of a definition, which is already in lowered form.
absl::StatusOr<Argument> Emit(Lowering& lowering, const Node& node, std::vector<Argument> args,
                              absl::Span<const KwArg> kwargs) {
  const Callable callee = CalleeOf(node);
  if (callee.kind == Callable::Kind::kPythonOperator)
    return lowering.Operator(*callee.python_operator, args);
  if (!callee.is_known() || callee.overloads.empty())
    return lowering.Error(absl::StrCat("there is no ", node.target()));
  const Schema& schema = callee.overloads[0];
  if (IsFused(schema)) {
    const auto type_of = [&](const Node* n) { return lowering.TypeOf(const_cast<Node*>(n)); };
    ASSIGN_OR_RETURN(const BoundCall call, Bind(callee, args, kwargs, type_of));
    return LowerFused(lowering, call);
  }
  // Bodies are copied into this module.
  GraphCopier copier(lowering.module());
  for (Argument& argument : args) {
    if (argument.is_graph()) argument = copier.CopyOf(argument.graph());
  }
  copier.Finish();
  return lowering.Builtin(node.target(), args, ResultType(schema, lowering.arena()), kwargs);
}

}  // namespace

absl::StatusOr<Argument> LowerFused(Lowering& lowering, const BoundCall& call) {
  absl::StatusOr<FusedCall> fused = FindDefinition(call);
  if (!fused.ok()) return lowering.Error(fused.status().message());
  Meanings meanings(*fused, &lowering);
  for (const Node* node : fused->rule->definition->nodes()) {
    if (node->is_output()) return meanings.Map(node->args()[0], 0);
    if (!node->is_call()) continue;
    const size_t count = meanings.Count(*node);
    if (!meanings.Agree(*node, count)) return lowering.Error("takes lists of different lengths");
    for (size_t i = 0; i < count; ++i) {
      std::vector<Argument> args;
      for (const Argument& argument : node->args()) args.push_back(meanings.Map(argument, i));
      std::vector<KwArg> kwargs;
      for (const KwArg& kwarg : node->kwargs())
        kwargs.push_back({kwarg.name, meanings.Map(kwarg.value, i)});
      ASSIGN_OR_RETURN(const Argument value, Emit(lowering, *node, std::move(args), kwargs));
      meanings.Add(*node, value);
    }
  }
  return lowering.Error("has an empty definition");  // The reader of fused.txt refuses this.
}

}  // namespace graphnet
