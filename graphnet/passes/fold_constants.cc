#include "graphnet/passes/fold_constants.h"

#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "graphnet/base/arena.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/shapes/sizes_of_run.h"
#include "graphnet/ir/outline.h"
#include "graphnet/passes/fold_values.h"
#include "graphnet/passes/pass.h"
#include "graphnet/passes/scalar_arithmetic.h"

namespace graphnet {
namespace {

bool IsConstant(const Argument& argument) {
  bool constant = true;
  ForEachArgument(argument, [&](const Argument& a) { constant &= !a.is_node() && !a.is_graph(); });
  return constant;
}

// Returns whether a graph returns `node`, whose value is `value`, or an element taken from it.
bool IsReturned(const Node& node, const Argument& value) {
  return absl::c_any_of(node.uses(), [&](const Use& use) {
    if (use.user->is_output()) return true;
    const Argument* const element = ElementOf(*use.user, &node, value);
    return element != nullptr && IsReturned(*use.user, *element);
  });
}

}  // namespace

std::optional<Argument> EvaluateRead(const Node& node, const TensorMeta& meta, Arena* arena) {
  if (node.args().empty() || !node.kwargs().empty()) return std::nullopt;
  const auto rest = node.args().subspan(1);
  const bool reads_attribute =
      node.is_call_function("builtins.getattr") && rest.size() == 1 && rest[0].is_string();
  const absl::string_view attribute = reads_attribute ? rest[0].string() : absl::string_view();
  if (attribute == "dtype" && meta.dtype != DType::kUnknown) return Argument(meta.dtype);
  if (!meta.has_shape) return std::nullopt;
  const int64_t rank = static_cast<int64_t>(meta.shape.size());
  if ((rest.empty() && (node.is_call_method("dim") || node.is_call_method("ndimension"))) ||
      attribute == "ndim") {
    return Argument(rank);
  }
  if (!meta.is_static()) return std::nullopt;
  if ((rest.empty() && node.is_call_method("size")) || attribute == "shape") {
    Argument* sizes = arena->NewArray<Argument>(meta.shape.size());
    for (size_t i = 0; i < meta.shape.size(); ++i) new (&sizes[i]) Argument(meta.shape[i].value);
    return Argument::Tuple(absl::MakeConstSpan(sizes, meta.shape.size()));
  }
  if (node.is_call_method("size") && rest.size() == 1 && rest[0].is_int()) {
    const int64_t dim = rest[0].integer() < 0 ? rest[0].integer() + rank : rest[0].integer();
    if (dim < 0 || dim >= rank) return std::nullopt;
    return Argument(meta.shape[static_cast<size_t>(dim)].value);
  }
  if (rest.empty() && (node.is_call_method("numel") || node.is_call_method("nelement"))) {
    int64_t count = 1;
    for (const Dim& dim : meta.shape) {
      if (__builtin_mul_overflow(count, dim.value, &count)) return std::nullopt;
    }
    return Argument(count);
  }
  return std::nullopt;
}

absl::StatusOr<bool> FoldConstants(Module* module, PassRun& run) {
  Arena arena;
  size_t folded = 0;
  SizesOfRun sizes_of_run;
  sizes_of_run.AddAll(*module);
  for (Graph* graph : module->graphs()) {
    for (Node* node : graph->nodes()) {
      if (!node->is_call()) continue;
      const TensorMeta* const meta = node->args().empty() || !node->args()[0].is_node()
                                         ? nullptr
                                         : node->args()[0].node()->tensor_meta();
      std::optional<Argument> value;
      if (meta != nullptr && !sizes_of_run.Has(*node)) value = EvaluateRead(*node, *meta, &arena);
      if (!value.has_value() && node->op() == Op::kCallFunction && node->kwargs().empty() &&
          absl::c_all_of(node->args(), IsConstant)) {
        value = EvaluateScalar(node->target(), node->args());
      }
      if (!value.has_value()) continue;
      // A graph returns nodes, so this one must stay.
      if (IsReturned(*node, *value)) continue;
      ReplaceUsesWithValue(node, module->CopyArgument(*value));
      graph->EraseNode(node);
      ++folded;
    }
  }
  if (folded > 0) run.Note("calls computed ahead", folded);
  ASSIGN_OR_RETURN(const bool values, run.flag("values"));
  if (!values) return folded > 0;
  ASSIGN_OR_RETURN(const bool more, FoldValues(module, run));
  return folded > 0 || more;
}

namespace {

const RegisteredPass kFoldConstantsPass("fold-constants", "fold_constants.h", FoldConstants,
                                        {"max_bytes", "values"});

}  // namespace

}  // namespace graphnet
