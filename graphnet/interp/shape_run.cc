#include "graphnet/interp/shape_run.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "ATen/Functions.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/cost/alive_bytes.h"
#include "graphnet/interp/run_report.h"
#include "graphnet/interp/structured_input.h"
#include "graphnet/interp/tensors.h"
#include "graphnet/interp/torch/status.h"
#include "graphnet/interp/torch/tensors.h"
#include "graphnet/interp/torch/types.h"
#include "graphnet/interp/torch/values.h"
#include "graphnet/ir/shared_walk.h"
#include "graphnet/ir/verifier.h"

namespace graphnet {
namespace {

const c10::Device kMeta(c10::kMeta);

// Returns a tensor with data if it is small, else one without.
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
  absl::StatusOr<at::Tensor> tensor = Guarded([&]() -> absl::StatusOr<at::Tensor> {
    return at::empty(shape, at::TensorOptions(kMeta).dtype(ScalarTypeOf(dtype)));
  });
  if (!tensor.ok()) return error(tensor.status().message());
  return tensor;
}

// Measures how many bytes live at once in a run. Counts each storage once.
class MemoryMeter {
 public:
  explicit MemoryMeter(const Graph& graph) : alive_(graph) {}

  // Adds an input or attribute.
  void Keep(const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.has_storage()) return;
    if (!Enter(tensor.storage(), AliveBytes::kNone)) return;
    alive_.Keep(static_cast<int64_t>(tensor.storage().nbytes()));
    kept_ += static_cast<int64_t>(tensor.storage().nbytes());
  }
  int64_t kept() const { return kept_; }
  void Observe(const Node& node, const c10::IValue& value) {
    observed_.push_back(&node);
    absl::flat_hash_set<const void*> seen;
    Add(node, value, &seen);
  }
  // Returns the bytes for each observed node.
  absl::flat_hash_map<const Node*, int64_t> ByNode() {
    const auto all = alive_.ByNode();
    const absl::flat_hash_map<const Node*, int64_t> bytes(all.begin(), all.end());
    absl::flat_hash_map<const Node*, int64_t> result;
    for (const Node* node : observed_) result[node] = bytes.at(node);
    return result;
  }

 private:
  struct Entry {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;  // keeps the address from being used again
    AliveBytes::Memory memory;
  };

  // Returns false if the storage is known already.
  bool Enter(const c10::Storage& storage, AliveBytes::Memory memory) {
    return storages_
        .try_emplace(storage.unsafeGetStorageImpl(), Entry{storage.getWeakStorageImpl(), memory})
        .second;
  }
  // `seen` has the tuples that were visited, as they may be shared.
  void Add(const Node& node, const c10::IValue& value, absl::flat_hash_set<const void*>* seen) {
    if (value.isTensor() && value.toTensor().defined() && value.toTensor().has_storage()) {
      const c10::Storage& storage = value.toTensor().storage();
      if (const auto it = storages_.find(storage.unsafeGetStorageImpl()); it != storages_.end()) {
        alive_.Share(node, it->second.memory);
      } else {
        Enter(storage, alive_.Take(node, static_cast<int64_t>(storage.nbytes())));
      }
    } else if (value.isTuple() || value.isTensorList()) {
      if (value.isTuple() && !seen->insert(&value.toTupleRef()).second) return;
      for (const c10::IValue& element : Elements(value)) Add(node, element, seen);
    }
  }

  AliveBytes alive_;
  int64_t kept_ = 0;
  absl::flat_hash_map<const void*, Entry> storages_;
  std::vector<const Node*> observed_;
};

// Returns a tensor, or a tuple of tensors, with the sizes of a meta for the example values; nullopt
// if a size is unknown, or if the meta has too many parts.
std::optional<c10::IValue> ValueOfMeta(const Module& module, const ValueMeta& meta,
                                       Budget* budget) {
  if (!budget->Charge(1)) return std::nullopt;
  if (meta.tensor == nullptr) {
    std::vector<c10::IValue> elements;
    for (const ValueMeta* element : meta.elements) {
      std::optional<c10::IValue> value = ValueOfMeta(module, *element, budget);
      if (!value) return std::nullopt;
      elements.push_back(*std::move(value));
    }
    if (!meta.is_tuple) return std::nullopt;
    return c10::ivalue::Tuple::create(std::move(elements));
  }
  absl::StatusOr<at::Tensor> tensor = InputTensor(module, "", meta.tensor, nullptr);
  if (!tensor.ok()) return std::nullopt;
  return *std::move(tensor);
}

c10::IValue ValueOfNumber(const Module& module, const SaidValues::Number& number) {
  const auto example = [&](size_t i, int64_t otherwise) {
    const Symbol* const symbol =
        i < number.symbols.size() ? module.FindSymbol(number.symbols[i]) : nullptr;
    return symbol == nullptr ? otherwise : symbol->example.value_or(otherwise);
  };
  if (number.value.isInt()) return example(0, number.value.toInt());
  if (!number.value.isIntList()) return number.value;
  std::vector<int64_t> numbers = number.value.toIntVector();
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = example(i, numbers[i]);
  return numbers;
}

}  // namespace

absl::Status RunForShapes(const Module& module, const std::map<std::string, TensorData>& values,
                          const ShapeRun& shape_run) {
  const auto find = [&values](absl::string_view name) {
    const auto it = values.find(std::string(name));
    return it == values.end() ? nullptr : &it->second;
  };
  CompileOptions options;
  options.device = kMeta;
  std::optional<MemoryMeter> memory;
  if (shape_run.peak != nullptr) memory.emplace(*module.main());
  for (const Attribute& attribute : module.attributes()) {
    ASSIGN_OR_RETURN(at::Tensor tensor,
                     InputTensor(module, attribute.name, attribute.meta, find(attribute.name)));
    if (memory) memory->Keep(tensor);
    options.attributes.emplace(attribute.name, std::move(tensor));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Executable> executable, Compile(module, options));
  std::vector<c10::IValue> inputs;
  for (const Node* node : module.main()->placeholders()) {
    if (IsStructure(*node)) {
      ASSIGN_OR_RETURN(
          inputs.emplace_back(),
          MakeStructure(*node, values, [&](const std::string& name, const TensorData& data) {
            return InputTensor(module, name, nullptr, &data);
          }));
      continue;
    }
    const TensorData* value = find(node->target());
    if (value == nullptr && node->tensor_meta() == nullptr &&
        absl::StartsWith(node->annotation(), "Optional[")) {
      inputs.emplace_back();
      continue;
    }
    if (const Symbol* symbol = module.FindSymbol(node->target());
        value == nullptr && symbol != nullptr && symbol->example.has_value()) {
      inputs.emplace_back(*symbol->example);
      continue;
    }
    ASSIGN_OR_RETURN(at::Tensor tensor,
                     InputTensor(module, node->target(), node->tensor_meta(), value));
    if (memory) memory->Keep(tensor);
    if (tensor.is_meta()) {
      inputs.emplace_back(std::move(tensor));
    } else {
      ASSIGN_OR_RETURN(c10::IValue input, ToInput(std::move(tensor), *node));
      inputs.push_back(std::move(input));
    }
  }
  RunOptions run;
  run.observer = [&](const Node& node, const c10::IValue& value) {
    if (memory) memory->Observe(node, value);
    return shape_run.observer ? shape_run.observer(node, value) : absl::OkStatus();
  };
  run.recover = shape_run.recover;
  run.recover_errors = shape_run.recover_errors;
  run.reads_data = shape_run.reads_data;
  absl::Status ran = executable->Run(inputs, run).status();
  if (memory) {
    absl::flat_hash_map<const Node*, int64_t> alive = memory->ByNode();
    *shape_run.peak = memory->kept();
    for (const auto& [node, bytes] : alive) *shape_run.peak = std::max(*shape_run.peak, bytes);
    if (shape_run.alive != nullptr) *shape_run.alive = std::move(alive);
  }
  return ran;
}

Recover RecoverBy(const Module& module, const SaidValues& said) {
  return [&](const Node& node) -> std::optional<c10::IValue> {
    if (const auto it = said.numbers.find(&node); it != said.numbers.end()) {
      return ValueOfNumber(module, it->second);
    }
    const auto it = said.metas.find(&node);
    if (it == said.metas.end()) return std::nullopt;
    Budget budget(kMaxMetaParts);
    return ValueOfMeta(module, *it->second, &budget);
  };
}

void AppendDims(const ValueMeta& meta, std::vector<Dim>* dims) {
  if (meta.tensor != nullptr)
    dims->insert(dims->end(), meta.tensor->shape.begin(), meta.tensor->shape.end());
  for (const ValueMeta* element : meta.elements) AppendDims(*element, dims);
}

const ValueMeta* WithDims(const ValueMeta& meta, const std::vector<Dim>& dims, size_t* next,
                          Module* module) {
  if (meta.tensor != nullptr) {
    TensorMeta tensor = *meta.tensor;
    const std::vector<Dim> shape(
        dims.begin() + static_cast<ptrdiff_t>(*next),
        dims.begin() + static_cast<ptrdiff_t>(*next + tensor.shape.size()));
    *next += tensor.shape.size();
    tensor.shape = shape;
    return module->InternValueMeta(tensor);
  }
  std::vector<const ValueMeta*> elements;
  for (const ValueMeta* element : meta.elements)
    elements.push_back(WithDims(*element, dims, next, module));
  return module->InternTupleMeta(elements);
}

}  // namespace graphnet
