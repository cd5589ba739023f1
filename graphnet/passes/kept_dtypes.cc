#include "graphnet/passes/kept_dtypes.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/memory/memory_use.h"
#include "graphnet/facts/shapes/operator_name.h"
#include "graphnet/ops/callable.h"
#include "graphnet/passes/call_scope.h"

namespace graphnet {
namespace {

// The positions of the parameters of a norm that stay.
struct NormParameter {
  absl::string_view name;
  size_t position;
};

absl::Span<const NormParameter> ParametersOfNorm(const Node& node) {
  const absl::string_view name = OperatorName(node);
  // torch.nn.functional and ATen order them differently.
  static constexpr NormParameter kFunctional[] = {
      {"running_mean", 1}, {"running_var", 2}, {"weight", 3}, {"bias", 4}};
  static constexpr NormParameter kAten[] = {
      {"weight", 1}, {"bias", 2}, {"running_mean", 3}, {"running_var", 4}};
  static constexpr NormParameter kShaped[] = {{"weight", 2}, {"bias", 3}};
  if (name == "batch_norm" || name == "instance_norm") {
    const bool is_functional = absl::StartsWith(node.target(), "torch.nn.functional.");
    return is_functional ? absl::MakeConstSpan(kFunctional) : absl::MakeConstSpan(kAten);
  }
  if (name == "native_batch_norm" || name == "_native_batch_norm_legit" ||
      name == "_native_batch_norm_legit_no_training")
    return kAten;
  if (name == "layer_norm" || name == "native_layer_norm" || name == "group_norm") return kShaped;
  if (name == "rms_norm") return absl::MakeConstSpan(kShaped).first(1);
  return {};
}

}  // namespace

absl::StatusOr<KeptDTypes> FindKeptDTypes(const Module& module, bool norms,
                                          const CallScope& scope) {
  KeptDTypes kept;
  ScopeMatcher matcher(scope);
  for (const Graph* graph : module.graphs()) {
    for (const Node* node : graph->nodes()) {
      if (!node->is_call()) continue;
      if (!matcher.Means(*node)) {
        kept.calls.insert(node);
        node->ForEachOperand([&](const Node* operand) {
          if (operand->is_placeholder() || operand->op() == Op::kGetAttr)
            kept.operands[node].insert(operand);
        });
        continue;
      }
      if (!norms) continue;
      const absl::Span<const NormParameter> parameters = ParametersOfNorm(*node);
      if (parameters.empty()) continue;
      for (const NormParameter& parameter : parameters) {
        const Argument* given = node->FindArg(parameter.name, parameter.position);
        if (given != nullptr && given->is_node()) kept.operands[node].insert(given->node());
      }
      if (!absl::StrContains(OperatorName(*node), "batch_norm")) kept.calls.insert(node);
    }
  }
  RETURN_IF_ERROR(matcher.CheckWords());
  return kept;
}

size_t RemoveConversions(Module* module, DType to,
                         absl::FunctionRef<DType(const Node* value)> dtype_of) {
  // Returns the value that a call converts to a dtype, or null.
  const auto converted = [](Node* node, DType dtype) -> Node* {
    const bool is_plain = node->is_call_method("to") && node->args().size() == 2 &&
                          node->kwargs().empty() && node->args()[0].is_node() &&
                          node->args()[1].kind() == Argument::Kind::kDType;
    if (!is_plain || (dtype != DType::kUnknown && node->args()[1].dtype() != dtype)) return nullptr;
    return node->args()[0].node();
  };
  const auto is_written = [](const Node* value) {
    return absl::c_any_of(value->uses(), [&](const Use& use) {
      return absl::c_linear_search(MemoryUseOf(*use.user).written, value);
    });
  };
  size_t removed = 0;
  for (Graph* graph : module->graphs()) {
    std::vector<Node*> nodes;
    for (Node* node : graph->nodes()) nodes.push_back(node);
    for (Node* node : nodes) {
      Node* from = converted(node, to);
      if (from == nullptr) continue;
      Node* source = from;
      if (dtype_of(from) != to) {
        source = converted(from, DType::kUnknown);
        const DType wide = dtype_of(from);
        const bool holds =
            wide == DType::kFloat64 ||
            (wide == DType::kFloat32 && (to == DType::kFloat16 || to == DType::kBFloat16));
        if (source == nullptr || !holds || dtype_of(source) != to || is_written(from) ||
            is_written(source) || is_written(node)) {
          continue;
        }
      }
      node->ReplaceAllUsesWith(source);
      graph->EraseNode(node);
      if (from != source && !from->has_uses()) graph->EraseNode(from);
      ++removed;
    }
  }
  return removed;
}

}  // namespace graphnet
