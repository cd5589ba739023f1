#include "graphnet/passes/explicit_operators.h"

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/ops/python_operator.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/ops/tensor_facts.h"
#include "graphnet/passes/facts_table.h"

namespace graphnet {
namespace {

class Explicit {
 public:
  Explicit(const LoweredModule& lowered, const FactsTable& facts)
      : lowered_(lowered), facts_(facts) {}

  bool Write(Node* node) {
    const Argument& value = lowered_.values[node];
    if (!value.is_node()) return false;
    const Schema* schema = FindOverload(value.node()->target());
    if (schema == nullptr) return false;
    bool changed = schema->is_pointwise && Cast(node, *value.node(), *schema);
    changed |= Method(node);
    return changed;
  }

 private:
  TensorFacts FactsOf(const Node* node) const {
    const Argument& value = lowered_.values[node];
    return value.is_node() ? facts_.Of(value.node()) : TensorFacts();
  }

  // Whether the parameter takes part in what the dtypes promote to.
  static bool IsPromoted(const SchemaArgument& parameter) {
    return parameter.type.kind == SchemaType::Kind::kTensor && !parameter.type.is_list &&
           parameter.name != "condition" && parameter.name != "mask" && parameter.name != "value";
  }

  // The tensors among the arguments of a call that promote each other, as the lowered call has
  // them, are those of the call itself.
  bool Cast(Node* node, const Node& call, const Schema& schema) {
    std::vector<TensorFacts> tensors;
    std::vector<const Node*> operands;
    for (size_t i = 0; i < schema.arguments.size(); ++i) {
      if (!IsPromoted(schema.arguments[i])) continue;
      const Argument* given = schema.Given(call, i);
      if (given == nullptr || !given->is_node()) continue;
      const TensorFacts& facts = facts_.Of(given->node());
      if (!facts.is_tensor()) continue;
      tensors.push_back(facts);
      operands.push_back(given->node());
    }
    if (tensors.size() < 2) return false;
    const bool writes = schema.arguments[0].type.is_mutated;
    const DType common = writes ? tensors[0].dtype : CommonDType(tensors);
    if (common == DType::kUnknown) return false;
    bool changed = false;
    const auto cast = [&](const Argument& argument) {
      if (!argument.is_node()) return argument;
      const Argument& lowered = lowered_.values[argument.node()];
      for (size_t i = writes ? 1 : 0; i < operands.size(); ++i) {
        if (!lowered.is_node() || lowered.node() != operands[i]) continue;
        if (tensors[i].dtype == common || tensors[i].dtype == DType::kUnknown) continue;
        changed = true;
        return Argument(CastOf(argument.node(), common, node));
      }
      return argument;
    };
    std::vector<Argument> args;
    args.reserve(node->args().size());
    for (const Argument& argument : node->args())
      args.push_back(writes && args.empty() ? argument : cast(argument));
    std::vector<KwArg> kwargs;
    for (const KwArg& kwarg : node->kwargs()) kwargs.push_back({kwarg.name, cast(kwarg.value)});
    if (!changed) return false;
    node->set_args(args);
    node->set_kwargs(kwargs);
    return true;
  }

  static Node* CastOf(Node* operand, DType dtype, Node* before) {
    const InsertionGuard guard(before->graph(), before);
    Node* made = before->graph()->CallMethod("to", {operand, dtype}, {});
    made->set_location(before->location());
    made->set_module_path(before->module_path());
    return made;
  }

  // a += b of a tensor.
  bool Method(Node* node) const {
    absl::string_view name = node->target();
    if (!node->is_call() || node->op() == Op::kCallMethod ||
        !absl::StartsWith(name, "operator."))
      return false;
    const PythonOperator* op = FindPythonOperator(name.substr(name.find('.') + 1));
    if (op == nullptr || !op->is_in_place || !absl::EndsWith(op->aten, "_") ||
        node->args().size() != op->num_operands || !node->args()[0].is_node() ||
        !FactsOf(node->args()[0].node()).is_tensor()) {
      return false;
    }
    const std::string label(node->name());
    Node* made = node->graph()->CallLike(*node, absl::StrCat(".", op->aten), node->args(), {});
    node->ReplaceAllUsesWith(made);
    node->graph()->EraseNode(node);
    made->set_name(label);
    return true;
  }

  const LoweredModule& lowered_;
  const FactsTable& facts_;
};

}  // namespace

absl::StatusOr<bool> ExplicitOperators(Module* module, PassRun& /*run*/) {
  RefusedCalls refused;
  ASSIGN_OR_RETURN(const LoweredModule lowered, LowerToAten(*module, &refused));
  const FactsTable facts(lowered, refused);
  Explicit write(lowered, facts);
  std::vector<Node*> calls;
  for (Graph* graph : module->graphs()) {
    for (Node* node : graph->nodes()) {
      if (node->is_call() && !refused.contains(node)) calls.push_back(node);
    }
  }
  bool changed = false;
  // From behind, so that what a call takes is still what the facts are of.
  for (auto it = calls.rbegin(); it != calls.rend(); ++it) changed |= write.Write(*it);
  return changed;
}

}  // namespace graphnet
