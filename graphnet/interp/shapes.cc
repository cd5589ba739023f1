#include "graphnet/interp/shapes.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/shape_run.h"
#include "graphnet/interp/symbol_prober.h"
#include "graphnet/interp/torch/types.h"
#include "graphnet/interp/torch/values.h"
#include "graphnet/ir/shared_walk.h"

namespace graphnet {
namespace {

const ValueMeta* MakeMeta(const c10::IValue& value, const ValueMeta* known, Module* module,
                          Budget* budget) {
  if (!budget->Charge(1)) return nullptr;
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined()) return nullptr;
    TensorMeta meta;
    meta.dtype = DTypeOf(tensor.scalar_type());
    meta.has_shape = !tensor.is_nested();
    std::vector<Dim> shape;
    if (meta.has_shape) shape.assign(tensor.sizes().begin(), tensor.sizes().end());
    meta.shape = shape;
    if (known != nullptr && known->tensor != nullptr) {
      meta.has_device = known->tensor->has_device;
      meta.device = known->tensor->device;
    }
    return module->InternValueMeta(meta);
  }
  if (!value.isTuple() && !value.isTensorList()) return nullptr;
  // The program will fill this list later.
  if (value.isTensorList() && value.toListRef().empty()) return nullptr;
  std::vector<const ValueMeta*> elements;
  for (const c10::IValue& element : Elements(value)) {
    const size_t i = elements.size();
    const bool is_known = known != nullptr && i < known->elements.size();
    const ValueMeta* meta =
        MakeMeta(element, is_known ? known->elements[i] : nullptr, module, budget);
    if (meta == nullptr) return nullptr;
    elements.push_back(meta);
  }
  return module->InternTupleMeta(elements);
}

}  // namespace

const ValueMeta* MetaOfValue(const c10::IValue& value, const ValueMeta* known, Module* module) {
  Budget budget(kMaxMetaParts);
  return MakeMeta(value, known, module, &budget);
}

absl::StatusOr<ShapeReport> InferShapes(Module* module,
                                        const std::map<std::string, TensorData>& values,
                                        const Observer& observer) {
  if (module->main() == nullptr) return absl::InvalidArgumentError("the module has no graph");
  SaidValues said;
  for (const Node* node : module->main()->nodes()) {
    if (node->meta() != nullptr) said.metas[node] = node->meta();
  }
  ShapeRun run;
  run.observer = observer;
  int64_t peak = 0;
  absl::flat_hash_map<const Node*, int64_t> alive;
  run.peak = &peak;
  run.alive = &alive;
  ASSIGN_OR_RETURN(ShapeReport report, InferShapesFrom(module, values, said, run));
  report.peak_bytes = peak;
  report.alive_bytes = std::move(alive);
  return report;
}

absl::StatusOr<ShapeReport> InferShapesFrom(Module* module,
                                            const std::map<std::string, TensorData>& values,
                                            const SaidValues& said, const ShapeRun& asked) {
  ShapeReport report;
  absl::flat_hash_map<const Node*, Node*> nodes;
  for (Node* node : module->main()->nodes()) nodes[node] = node;
  ShapeRun run = asked;
  run.observer = [&](const Node& node, const c10::IValue& value) {
    if (const ValueMeta* meta = MetaOfValue(value, node.meta(), module)) {
      nodes.at(&node)->set_meta(meta);
      ++report.nodes;
    }
    return asked.observer ? asked.observer(node, value) : absl::OkStatus();
  };
  run.recover = RecoverBy(*module, said);
  absl::Status ran = RunForShapes(*module, values, run);
  const bool is_symbolic = !module->symbols().empty();
  // After FailedPrecondition, only values that depend on missing data lack their metas.
  if (!ran.ok() && !absl::IsFailedPrecondition(ran)) {
    // If there are symbols, the sizes may hold for the example only, so restore the metas.
    for (const auto& [node, made] : nodes) {
      const auto it = said.metas.find(node);
      if (is_symbolic) made->set_meta(it == said.metas.end() ? nullptr : it->second);
    }
    return ran;
  }
  if (is_symbolic) ProbeSymbols(module, values, said);
  RETURN_IF_ERROR(ran);
  return report;
}

int64_t PeakBytes(const Module& module, const std::map<std::string, TensorData>& values) {
  int64_t peak = 0;
  ShapeRun run;
  run.peak = &peak;
  RunForShapes(module, values, run).IgnoreError();
  return peak;
}

}  // namespace graphnet
