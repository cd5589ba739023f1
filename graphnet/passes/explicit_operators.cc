#include "graphnet/passes/explicit_operators.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/shapes/facts_table.h"
#include "graphnet/facts/shapes/tensor_facts.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/lowering.h"
#include "graphnet/ops/python_operator.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/passes/pass.h"

namespace graphnet {
namespace {

// The changes to make to a call.
struct Change {
  Node* node = nullptr;
  std::vector<std::pair<size_t, DType>> casts;  // of arguments; keywords come after positions
  DType result = DType::kUnknown;  // the dtype to which the result is cast; unknown if it is not
  absl::string_view method;        // the method that replaces the operator; empty if none does
};

// Returns whether PyTorch computes a call of floats of 16 bits in float32 if the second operand has
// no dimensions and another dtype. Every other elementwise operator narrows that operand first.
bool TakesWideScalar(const Schema& schema) {
  static constexpr absl::string_view kNames[] = {"mul",    "multiply",    "div",
                                                 "divide", "true_divide", "floor_divide"};
  absl::string_view name = schema.name;
  name = name.substr(0, name.find('.'));
  absl::ConsumeSuffix(&name, "_");
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// Returns whether PyTorch computes with the operands in other dtypes than their common one:
// float_power in float64, and ldexp with a power of the second operand in its own dtype.
bool PromotesByItself(const Schema& schema) {
  absl::string_view name = schema.name;
  absl::ConsumeSuffix(&name, "_");
  return name == "float_power" || name == "ldexp";
}

class Explicit {
 public:
  Explicit(const LoweredModule& lowered, const FactsTable& facts)
      : lowered_(lowered), facts_(facts) {}

  // Returns the changes that a call of the original module needs.
  Change Of(Node* node) const {
    Change change{.node = node};
    const Argument& value = lowered_.values[node];
    if (!value.is_node()) return change;
    const Schema* schema = FindOverload(value.node()->target());
    if (schema == nullptr) return change;
    if (schema->is_pointwise && !PromotesByItself(*schema))
      FindCasts(*value.node(), *schema, &change);
    change.method = MethodOf(*node);
    return change;
  }

 private:
  TensorFacts FactsOf(const Node* node) const {
    const Argument& value = lowered_.values[node];
    return value.is_node() ? facts_.Of(value.node()) : TensorFacts();
  }

  // Returns whether the parameter takes part in dtype promotion.
  static bool IsPromoted(const SchemaArgument& parameter) {
    return parameter.type.kind == SchemaType::Kind::kTensor && !parameter.type.is_list &&
           parameter.name != "condition" && parameter.name != "mask" && parameter.name != "value";
  }

  // Finds the casts. The tensors that promote each other in the lowered `call` are among the
  // arguments of the original call.
  void FindCasts(const Node& call, const Schema& schema, Change* change) const {
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
    if (tensors.size() < 2) return;
    const size_t first = schema.arguments[0].type.is_mutated ? 1 : 0;
    const DType common = first == 1 ? tensors[0].dtype : CommonDType(tensors);
    if (common == DType::kUnknown) return;
    const bool is_half = common == DType::kFloat16 || common == DType::kBFloat16;
    const bool is_wide =
        is_half && TakesWideScalar(schema) && tensors[1].dtype != common && tensors[1].rank() == 0;
    if (is_wide && first == 1) return;  // The result of a cast would not be written to the tensor.
    const DType computed = is_wide ? DType::kFloat32 : common;
    const auto look = [&](size_t at, const Argument& argument) {
      if (!argument.is_node()) return;
      const Argument& lowered = lowered_.values[argument.node()];
      for (size_t i = first; i < operands.size(); ++i) {
        if (!lowered.is_node() || lowered.node() != operands[i]) continue;
        if (tensors[i].dtype == computed || tensors[i].dtype == DType::kUnknown) continue;
        change->casts.emplace_back(at, computed);
        if (is_wide) change->result = common;
        return;
      }
    };
    const absl::Span<const Argument> args = change->node->args();
    for (size_t i = first; i < args.size(); ++i) look(i, args[i]);
    const absl::Span<const KwArg> kwargs = change->node->kwargs();
    for (size_t i = 0; i < kwargs.size(); ++i) look(args.size() + i, kwargs[i].value);
  }

  // Names of Python's methods that say the same as ATen's.
  static absl::string_view MethodName(absl::string_view aten) {
    static constexpr std::pair<absl::string_view, absl::string_view> kNames[] = {
        {"__iand__", "bitwise_and_"},
        {"__ior__", "bitwise_or_"},
        {"__ixor__", "bitwise_xor_"},
        {"__ilshift__", "bitwise_left_shift_"},
        {"__irshift__", "bitwise_right_shift_"}};
    for (const auto& [method, name] : kNames) {
      if (method == aten) return name;
    }
    return aten;
  }

  // Returns the method for `a += b` and the like on a tensor; empty for other calls.
  absl::string_view MethodOf(const Node& node) const {
    absl::string_view name = node.target();
    if (node.op() != Op::kCallFunction || !absl::ConsumePrefix(&name, "operator.")) return {};
    const PythonOperator* op = FindPythonOperator(name);
    const bool is_of_tensor = op != nullptr && op->is_in_place && absl::EndsWith(op->aten, "_") &&
                              node.args().size() == op->num_operands && node.args()[0].is_node() &&
                              FactsOf(node.args()[0].node()).is_tensor();
    return is_of_tensor ? MethodName(op->aten) : absl::string_view();
  }

  const LoweredModule& lowered_;
  const FactsTable& facts_;
};

// Casts the value for all its users.
void CastAfter(Node* node, DType dtype) {
  const InsertionGuard guard(node->graph(), node->next());
  Node* const cast = node->graph()->CallMethod("to", {node, dtype}, {});
  cast->set_location(node->location());
  cast->set_module_path(node->module_path());
  cast->set_meta(node->meta());
  node->set_meta(nullptr);
  node->ReplaceAllUsesWith(cast);
  cast->set_arg(0, node);
}

void Make(const Change& change) {
  Node* const node = change.node;
  for (const auto& [at, dtype] : change.casts) {
    const size_t by_position = node->args().size();
    if (at < by_position) {
      node->set_arg(at, CastBefore(node, node->args()[at], dtype));
    } else {
      const KwArg kwarg = node->kwargs()[at - by_position];
      node->set_kwarg(kwarg.name, CastBefore(node, kwarg.value, dtype));
    }
  }
  if (change.result != DType::kUnknown) CastAfter(node, change.result);
  if (change.method.empty()) return;
  const std::string label(node->name());
  Node* made = node->graph()->CallLike(*node, absl::StrCat(".", change.method), node->args(), {});
  node->ReplaceAllUsesWith(made);
  node->graph()->EraseNode(node);
  made->set_name(label);
}

}  // namespace

Argument CastBefore(Node* node, const Argument& operand, DType dtype) {
  const InsertionGuard guard(node->graph(), node);
  Node* made = node->graph()->CallMethod("to", {operand, dtype}, {});
  made->set_location(node->location());
  made->set_module_path(node->module_path());
  return Argument(made);
}

absl::StatusOr<bool> ExplicitOperators(Module* module, PassRun& /*run*/) {
  RefusedCalls refused;
  ASSIGN_OR_RETURN(const LoweredModule lowered, LowerToAten(*module, &refused));
  const FactsTable facts(lowered, refused);
  const Explicit look(lowered, facts);
  // Find all changes before making any: the facts describe the unchanged calls.
  std::vector<Change> changes;
  for (Graph* graph : module->graphs()) {
    for (Node* node : graph->nodes()) {
      if (!node->is_call() || refused.contains(node)) continue;
      Change change = look.Of(node);
      if (!change.casts.empty() || !change.method.empty()) changes.push_back(std::move(change));
    }
  }
  for (const Change& change : changes) Make(change);
  return !changes.empty();
}

namespace {

const RegisteredPass kExplicitOperatorsPass("explicit-operators", "explicit_operators.h",
                                            ExplicitOperators);

}  // namespace

}  // namespace graphnet
