#include <optional>
#include <utility>

#include "graphnet/base/memory.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/prepare.h"
#include "graphnet/interp/shapes.h"
#include "graphnet/interp/torch/types.h"
#include "graphnet/interp/torch/values.h"
#include "graphnet/ir/verifier.h"

namespace graphnet {
namespace {

// The sizes that the run found for expressions that depend on data.
using FoundSizes = absl::flat_hash_map<const SymExpr*, int64_t>;

bool Agrees(const Module& module, const ValueMeta& meta, const c10::IValue& value,
            FoundSizes* found) {
  if (meta.tensor != nullptr) {
    if (!value.isTensor()) return false;
    const at::Tensor& tensor = value.toTensor();
    if (DTypeOf(tensor.scalar_type()) != meta.tensor->dtype) return false;
    if (!meta.tensor->has_shape || tensor.is_nested())
      return meta.tensor->has_shape != tensor.is_nested();
    if (static_cast<size_t>(tensor.dim()) != meta.tensor->shape.size()) return false;
    for (int64_t i = 0; i < tensor.dim(); ++i) {
      const Dim& dim = meta.tensor->shape[static_cast<size_t>(i)];
      std::optional<int64_t> size =
          dim.is_static() ? dim.value : EvaluateWithExamples(module, *dim.expr);
      if (!size) size = found->try_emplace(dim.expr, tensor.size(i)).first->second;
      if (size != tensor.size(i)) return false;
    }
    return true;
  }
  const std::vector<c10::IValue> elements = Elements(value);
  if (elements.size() != meta.elements.size()) return false;
  for (size_t i = 0; i < elements.size(); ++i) {
    if (!Agrees(module, *meta.elements[i], elements[i], found)) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<ShapeCheck> CheckShapes(const Module& module,
                                       std::map<std::string, TensorData> values) {
  ASSIGN_OR_RETURN(PreparedRun prepared,
                   PrepareRun(module, std::move(values), {.max_bytes = AvailableMemoryBytes()}));
  ShapeCheck check;
  FoundSizes found;
  RunOptions run;
  run.observer = [&](const Node& node, const c10::IValue& value) {
    if (!value.isTensor() && !value.isTuple() && !value.isTensorList()) return absl::OkStatus();
    if (node.meta() != nullptr && Agrees(module, *node.meta(), value, &found)) {
      ++check.passed;
    } else if (node.meta() != nullptr || value.isTensor()) {
      check.failed.emplace_back(node.name());
    }
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(prepared.executable->Run(std::move(prepared.inputs), run).status());
  return check;
}

}  // namespace graphnet
