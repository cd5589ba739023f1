#include "graphnet/interp/shapes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ATen/Functions.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/executable.h"
#include "graphnet/interp/tensors.h"
#include "graphnet/interp/torch_status.h"
#include "graphnet/interp/values.h"
#include "graphnet/ir/verifier.h"

namespace graphnet {
namespace {

const c10::Device kMeta(c10::kMeta);

// A tensor with data if it is small, else one without.
absl::StatusOr<at::Tensor> InputTensor(const Module& module, absl::string_view name,
                                       const TensorMeta* meta, const TensorData* value) {
  const auto error = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("input ", Printable(name), ": ", what));
  };
  std::vector<int64_t> shape;
  DType dtype = DType::kUnknown;
  if (value != nullptr) {
    shape = value->shape;
    dtype = value->dtype;
    int64_t elements = 1;
    for (const int64_t size : shape) elements *= size;
    if (elements <= kMaxElementsWithData) return ToTensor(*value, c10::Device(c10::kCPU));
  } else {
    if (meta == nullptr || !meta->has_shape) return error("its shape is not known");
    dtype = meta->dtype;
    for (const Dim& dim : meta->shape) {
      const std::optional<int64_t> size =
          dim.is_static() ? dim.value : EvaluateWithExamples(module, *dim.expr);
      if (!size) return error("its shape is symbolic, without an example");
      shape.push_back(*size);
    }
  }
  const absl::StatusOr<at::Tensor> tensor = Guarded([&]() -> absl::StatusOr<at::Tensor> {
    return at::empty(shape, at::TensorOptions(kMeta).dtype(interp::ToScalarType(dtype)));
  });
  if (!tensor.ok()) return error(tensor.status().message());
  return tensor;
}

// Of a tensor, or a tuple of values; null for anything else.
const ValueMeta* MetaOf(const c10::IValue& value, Module* module) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined()) return nullptr;
    TensorMeta meta;
    meta.dtype = interp::FromScalarType(tensor.scalar_type());
    meta.has_shape = true;
    const std::vector<Dim> shape(tensor.sizes().begin(), tensor.sizes().end());
    meta.shape = shape;
    return module->InternValueMeta(meta);
  }
  if (!value.isTuple() && !value.isTensorList()) return nullptr;
  std::vector<const ValueMeta*> elements;
  for (const c10::IValue& element : interp::Elements(value)) {
    const ValueMeta* meta = MetaOf(element, module);
    if (meta == nullptr) return nullptr;
    elements.push_back(meta);
  }
  return module->InternTupleMeta(elements);
}

// Adds up the memory that is alive.
class MemoryMeter {
 public:
  void Add(const c10::IValue& value) {
    if (value.isTensor() && value.toTensor().defined() && value.toTensor().has_storage()) {
      const c10::Storage& storage = value.toTensor().storage();
      const auto bytes = static_cast<int64_t>(storage.nbytes());
      const auto [it, is_new] = storages_.try_emplace(
          storage.unsafeGetStorageImpl(), Entry{storage.getWeakStorageImpl(), bytes});
      if (is_new) added_ += bytes;
    } else if (value.isTuple() || value.isTensorList()) {
      for (const c10::IValue& element : interp::Elements(value)) Add(element);
    }
  }
  // While a value is made, what was alive before it still is.
  void Measure() {
    peak_ = std::max(peak_, alive_ + added_);
    added_ = 0;
    int64_t alive = 0;
    for (auto it = storages_.begin(); it != storages_.end();) {
      if (it->second.storage.expired()) {
        storages_.erase(it++);
      } else {
        alive += it->second.bytes;
        ++it;
      }
    }
    alive_ = alive;
  }
  int64_t peak() const { return peak_; }

 private:
  struct Entry {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
    int64_t bytes;
  };
  absl::flat_hash_map<const void*, Entry> storages_;
  int64_t alive_ = 0;
  int64_t added_ = 0;
  int64_t peak_ = 0;
};

// Runs the main graph without data and returns the peak.
absl::StatusOr<int64_t> RunForShapes(const Module& module,
                                     const std::map<std::string, TensorData>& values,
                                     const Observer& observer) {
  const auto find = [&values](absl::string_view name) {
    const auto it = values.find(std::string(name));
    return it == values.end() ? nullptr : &it->second;
  };
  CompileOptions options;
  options.device = kMeta;
  MemoryMeter memory;
  for (const Attribute& attribute : module.attributes()) {
    ASSIGN_OR_RETURN(at::Tensor tensor,
                     InputTensor(module, attribute.name, attribute.meta, find(attribute.name)));
    memory.Add(tensor);
    options.attributes.emplace(attribute.name, std::move(tensor));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Executable> executable, Compile(module, options));
  std::vector<c10::IValue> inputs;
  for (const Node* node : module.main()->placeholders()) {
    const TensorData* value = find(node->target());
    if (value == nullptr && node->tensor_meta() == nullptr &&
        absl::StartsWith(node->annotation(), "Optional[")) {
      inputs.emplace_back();
      continue;
    }
    ASSIGN_OR_RETURN(at::Tensor tensor,
                     InputTensor(module, node->target(), node->tensor_meta(), value));
    memory.Add(tensor);
    if (tensor.is_meta()) {
      inputs.emplace_back(std::move(tensor));
    } else {
      ASSIGN_OR_RETURN(c10::IValue input, ToInput(std::move(tensor), *node));
      inputs.push_back(std::move(input));
    }
  }
  memory.Measure();
  RunOptions run;
  run.observer = [&](const Node& node, const c10::IValue& value) {
    memory.Add(value);
    memory.Measure();
    return observer ? observer(node, value) : absl::OkStatus();
  };
  RETURN_IF_ERROR(executable->Run(inputs, run).status());
  return memory.peak();
}

}  // namespace

absl::StatusOr<ShapeReport> InferShapes(Module* module,
                                        const std::map<std::string, TensorData>& values) {
  ShapeReport report;
  if (module->main() == nullptr) return absl::InvalidArgumentError("the module has no graph");
  absl::flat_hash_map<const Node*, Node*> nodes;
  for (Node* node : module->main()->nodes()) nodes[node] = node;
  ASSIGN_OR_RETURN(report.peak_bytes,
                   RunForShapes(*module, values, [&](const Node& node, const c10::IValue& value) {
                     if (const ValueMeta* meta = MetaOf(value, module)) {
                       nodes.at(&node)->set_meta(meta);
                       ++report.nodes;
                     }
                     return absl::OkStatus();
                   }));
  return report;
}

absl::StatusOr<int64_t> PeakBytes(const Module& module,
                                  const std::map<std::string, TensorData>& values) {
  return RunForShapes(module, values, nullptr);
}

}  // namespace graphnet
