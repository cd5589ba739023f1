#include "graphnet/interp/prepare.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/shapes.h"
#include "graphnet/interp/structured_input.h"
#include "graphnet/interp/tensors.h"
#include "graphnet/interp/torch/tensors.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/lift_attributes.h"

namespace graphnet {
namespace {

using Values = std::map<std::string, TensorData>;

absl::Status CheckMemory(const Module& module, const Values& values, int64_t max_bytes) {
  // PeakBytes ignores errors, since the run reports them better.
  const int64_t peak = PeakBytes(module, values);
  if (peak <= max_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrFormat(
      "would need %.1f MiB for its tensors; %.1f MiB may be used",
      static_cast<double>(peak) / (1 << 20), static_cast<double>(max_bytes) / (1 << 20)));
}

absl::StatusOr<at::Tensor> TakeTensor(absl::string_view kind, absl::string_view name,
                                      const TensorData& data, c10::Device device) {
  absl::StatusOr<at::Tensor> tensor = ToTensor(data, device);
  if (tensor.ok()) return tensor;
  return absl::InvalidArgumentError(
      absl::StrCat(kind, " ", Printable(name), ": ", tensor.status().message()));
}

absl::StatusOr<c10::IValue> TakeInput(const Node& node, Values* values,
                                      const PrepareOptions& options) {
  const c10::Device device = options.device;
  if (IsStructure(node)) {
    return MakeStructure(node, *values, [&](const std::string& name, const TensorData& data) {
      return TakeTensor("input", name, data, device);
    });
  }
  auto entry = values->extract(std::string(node.target()));
  if (entry.empty()) {
    if (absl::StartsWith(node.annotation(), "Optional[")) return c10::IValue();
    return absl::NotFoundError(absl::StrCat("no value for input ", Printable(node.target())));
  }
  ASSIGN_OR_RETURN(at::Tensor tensor, TakeTensor("input", node.target(), entry.mapped(), device));
  if (IsLiftedParameter(node) || options.parameters.contains(node.target()))
    tensor = AsParameter(tensor);
  return ToInput(std::move(tensor), node);
}

}  // namespace

absl::StatusOr<PreparedRun> PrepareRun(const Module& module, Values values,
                                       const PrepareOptions& options) {
  if (options.max_bytes.has_value()) {
    RETURN_IF_ERROR(CheckMemory(module, values, *options.max_bytes));
  }
  CompileOptions compile;
  compile.records_gradients = options.records_gradients;
  compile.device = options.device;
  compile.backend = options.backend;
  for (const Attribute& attribute : module.attributes()) {
    auto entry = values.extract(std::string(attribute.name));
    if (entry.empty()) continue;  // The graph may not read it.
    ASSIGN_OR_RETURN(at::Tensor tensor,
                     TakeTensor("attribute", attribute.name, entry.mapped(), options.device));
    compile.attributes.emplace(attribute.name, std::move(tensor));
  }
  PreparedRun prepared;
  ASSIGN_OR_RETURN(prepared.executable, Compile(module, compile));
  prepared.attributes = std::move(compile.attributes);
  for (const Node* node : module.main()->placeholders()) {
    ASSIGN_OR_RETURN(c10::IValue input, TakeInput(*node, &values, options));
    prepared.inputs.push_back(std::move(input));
  }
  return prepared;
}

}  // namespace graphnet
