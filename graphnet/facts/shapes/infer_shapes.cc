#include "graphnet/facts/shapes/infer_shapes.h"

#include <vector>

#include "graphnet/base/status.h"
#include "graphnet/facts/shapes/facts_table.h"
#include "graphnet/facts/shapes/tensor_facts.h"
#include "graphnet/ops/lowering.h"

namespace graphnet {

absl::StatusOr<size_t> InferShapesByRules(Module* module) {
  RefusedCalls refused;
  ASSIGN_OR_RETURN(const LoweredModule lowered, LowerToAten(*module, &refused));
  const FactsTable table(lowered, refused);
  size_t unknown = 0;
  for (Node* node : module->main()->nodes()) {
    if (!node->is_call() || (node->meta() != nullptr && node->meta()->is_tuple)) continue;
    const TensorMeta* const given = node->tensor_meta();
    if (given != nullptr && given->has_shape && given->dtype != DType::kUnknown) continue;
    const Argument& value = lowered.values[node];
    if (refused.contains(node)) ++unknown;
    if (refused.contains(node) || !value.is_node()) continue;
    const TensorFacts& facts = table.Of(value.node());
    if (facts.kind == TensorFacts::Kind::kOther || facts.kind == TensorFacts::Kind::kList) continue;
    const bool has_shape = facts.is_tensor() && facts.is_static();
    if (!has_shape || facts.dtype == DType::kUnknown) ++unknown;
    if (!has_shape && facts.dtype == DType::kUnknown) continue;
    TensorMeta meta;
    if (given != nullptr) meta = *given;
    if (facts.dtype != DType::kUnknown) meta.dtype = facts.dtype;
    std::vector<Dim> dims;
    if (has_shape) {
      dims.assign(facts.sizes->begin(), facts.sizes->end());
      meta.has_shape = true;
      meta.shape = dims;
    }
    if (facts.device.has_value()) {
      meta.has_device = true;
      meta.device = *facts.device;
    }
    node->set_meta(module->InternValueMeta(meta));
  }
  return unknown;
}

}  // namespace graphnet
