#include "graphnet/formats/torchscript/attributes.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ATen/EmptyTensor.h"
#include "ATen/core/class_type.h"
#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "c10/util/strides.h"
#include "graphnet/base/strided_copy.h"
#include "graphnet/interp/inputs/weights.h"
#include "graphnet/interp/torch/types.h"
#include "graphnet/ir/annotation.h"

namespace graphnet::torchscript {
namespace {

// Returns the values contiguous on the CPU, without a copy where possible. `tensor` must be dense
// and may be on any device but meta.
at::Tensor InMemory(const at::Tensor& tensor) {
  return tensor.detach().cpu().resolve_conj().resolve_neg().contiguous();
}

// Wraps a result of InMemory. The data shares its memory.
TensorData DataOf(const at::Tensor& values) {
  return {.dtype = DTypeOf(values.scalar_type()),
          .shape = values.sizes().vec(),
          .bytes = SharedBytes(std::make_shared<at::Tensor>(values),
                               absl::string_view(static_cast<const char*>(values.const_data_ptr()),
                                                 values.nbytes()))};
}

// Returns a text that two tensors share if they are the same view of the same memory.
std::string ViewOf(const at::Tensor& tensor) {
  return absl::StrCat(
      absl::Hex(reinterpret_cast<uintptr_t>(tensor.storage().unsafeGetStorageImpl())), " ",
      tensor.storage_offset(), " ", static_cast<int>(tensor.scalar_type()),
      tensor.is_conj() ? "c" : "", tensor.is_neg() ? "n" : "", " ",
      absl::StrJoin(tensor.sizes(), ","), " ", absl::StrJoin(tensor.strides(), ","));
}

}  // namespace

void DescribeValues(const at::Tensor& tensor, DrawSpec* spec, std::vector<Argument>* data) {
  graphnet::DescribeValues(DataOf(InMemory(tensor)), spec, data);
}

std::string TypeText(const c10::Type& type) {
  const c10::TypePrinter printer = [](const c10::Type& t) -> std::optional<std::string> {
    if (const auto* tuple = t.castRaw<c10::TupleType>(); tuple != nullptr && tuple->name()) {
      return absl::StrCat("Tuple[",
                          absl::StrJoin(tuple->elements(), ", ",
                                        [](std::string* out, const c10::TypePtr& element) {
                                          absl::StrAppend(out, TypeText(*element));
                                        }),
                          "]");
    }
    // A future is replaced by its value.
    if (const auto* future = t.castRaw<c10::FutureType>()) {
      return TypeText(*future->getElementType());
    }
    return std::nullopt;
  };
  return type.annotation_str(printer);
}

bool MetaOfType(const c10::TensorType& type, TensorMeta* meta, std::vector<Dim>* shape) {
  if (type.scalarType()) meta->dtype = DTypeOf(*type.scalarType());
  if (type.device()) {
    meta->has_device = true;
    meta->device = DeviceOf(*type.device());
  }
  if (const auto sizes = type.sizes().concrete_sizes()) {
    meta->has_shape = true;
    shape->assign(sizes->begin(), sizes->end());
    meta->shape = *shape;
  }
  return meta->dtype != DType::kUnknown || meta->has_device || meta->has_shape;
}

std::vector<int64_t> StridesOf(const at::Tensor& tensor) {
  if (tensor.layout() != at::kStrided || tensor.numel() == 0 ||
      !tensor.is_non_overlapping_and_dense() ||
      tensor.strides() == c10::contiguous_strides(tensor.sizes())) {
    return {};
  }
  return tensor.strides().vec();
}

void AttributeTable::FindOverlap(const at::Tensor& tensor, absl::string_view name) {
  if (tensor.numel() == 0) return;
  const size_t item = tensor.element_size();
  const size_t begin = static_cast<size_t>(tensor.storage_offset()) * item;
  const size_t end =
      begin + at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(), item);
  std::vector<Range>& ranges = ranges_[tensor.storage().unsafeGetStorageImpl()];
  for (const Range& other : ranges) {
    if (other.begin < end && begin < other.end) overlap_ = absl::StrCat(other.name, " and ", name);
  }
  ranges.push_back({begin, end, name});
}

void AttributeTable::NameSlots(const c10::intrusive_ptr<c10::ivalue::Object>& self) {
  using Modules = std::vector<std::pair<c10::intrusive_ptr<c10::ivalue::Object>, std::string>>;
  for (const bool parameters : {true, false}) {
    absl::flat_hash_set<const c10::ivalue::Object*> seen;
    Modules left = {{self, ""}};
    while (!left.empty()) {
      const auto [object, path] = std::move(left.back());
      left.pop_back();
      if (!seen.insert(object.get()).second) continue;
      const auto& type = object->type();
      Modules inner;
      for (size_t i = 0; i < type->numAttributes(); ++i) {
        const c10::IValue& value = object->getSlot(i);
        std::string name = absl::StrCat(path, path.empty() ? "" : ".", type->getAttributeName(i));
        if (value.isObject() && value.toObject()->type()->is_module()) {
          inner.emplace_back(value.toObject(), std::move(name));
        } else if (value.isTensor() && value.toTensor().defined() &&
                   value.toTensor().layout() == at::kStrided && value.toTensor().has_storage() &&
                   type->is_parameter(i) == parameters) {
          slot_names_.insert(name);
          slots_.try_emplace(
              ViewOf(value.toTensor()),
              Slot{std::move(name), parameters ? kParameterAnnotation : "torch.Tensor"});
        }
      }
      left.insert(left.end(), std::make_move_iterator(inner.rbegin()),
                  std::make_move_iterator(inner.rend()));
    }
  }
}

std::vector<std::string> AttributeTable::UnreadParameters() const {
  std::vector<std::string> names;
  for (const auto& [view, slot] : slots_) {
    if (slot.annotation == kParameterAnnotation && !by_view_.contains(view))
      names.push_back(slot.name);
  }
  absl::c_sort(names);
  return names;
}

void AttributeTable::ReserveInput(absl::string_view name, bool has_elements) {
  inputs_[name] = has_elements;
}

bool AttributeTable::BelongsToInput(absl::string_view name) const {
  const auto whole = inputs_.find(name);
  if (whole != inputs_.end()) return true;
  const auto first = inputs_.find(name.substr(0, name.find('.')));
  return first != inputs_.end() && first->second;
}

absl::StatusOr<absl::string_view> AttributeTable::Add(const at::Tensor& tensor,
                                                      absl::string_view name,
                                                      absl::string_view annotation) {
  if (!tensor.defined()) return absl::InvalidArgumentError("an undefined tensor");
  if (tensor.layout() != at::kStrided) {
    return absl::InvalidArgumentError(absl::StrCat("a tensor that is not dense, ", name));
  }
  const DType dtype = DTypeOf(tensor.scalar_type());
  if (tensor.is_quantized() || dtype == DType::kUnknown) {
    return absl::InvalidArgumentError(
        absl::StrCat("a tensor of ", c10::toString(tensor.scalar_type()), ", ", name));
  }
  const std::string view = ViewOf(tensor);
  const auto found = by_view_.find(view);
  if (found != by_view_.end()) return found->second;
  if (const auto slot = slots_.find(view); slot != slots_.end()) {
    name = slot->second.name;
    annotation = slot->second.annotation;
  }

  std::vector<Dim> shape(tensor.sizes().begin(), tensor.sizes().end());
  const TensorMeta meta = {.dtype = dtype,
                           .has_device = true,
                           .has_shape = true,
                           .device = DeviceOf(tensor.device()),
                           .shape = shape};
  DrawSpec spec;
  std::vector<Argument> data;
  at::Tensor values;
  if (!tensor.is_meta()) {
    values = InMemory(tensor);
    graphnet::DescribeValues(DataOf(values), &spec, &data);
  }
  std::string unique(name);
  if (BelongsToInput(unique)) {
    const size_t end = std::min(unique.find('.'), unique.size());
    do {
      unique.insert(end, "_");
    } while (BelongsToInput(unique) || slot_names_.contains(unique) ||
             sample_->module->FindAttribute(unique) != nullptr);
  }
  // A name that contains dots may equal the path of another attribute.
  for (int i = 1; sample_->module->FindAttribute(unique) != nullptr; ++i) {
    unique = absl::StrCat(name, "_", i);
  }
  sample_->module->AddAttribute(
      {.name = unique, .meta = &meta, .annotation = annotation, .draw_spec = &spec});
  const absl::string_view stored = sample_->module->FindAttribute(unique)->name;
  by_view_[view] = stored;
  FindOverlap(tensor, stored);
  if (weights_ && values.defined()) {
    TensorData weight = DataOf(values);
    if (!shares_) weight.bytes = std::make_shared<const std::string>(*weight.bytes);
    // Kernels round differently for elements with gaps between them, too.
    const std::vector<int64_t> strides = tensor.strides().vec();
    if (strides != RowMajorStrides(weight.shape) && tensor.numel() > 0 &&
        AreModestStrides(weight.shape, strides)) {
      weight.strides = strides;
    }
    sample_->weights[unique] = std::move(weight);
  }
  return stored;
}

absl::StatusOr<absl::string_view> AttributeTable::AddConstant(const at::Tensor& tensor) {
  const size_t before = sample_->module->attributes().size();
  absl::StatusOr<absl::string_view> added =
      Add(tensor, absl::StrCat("_tensor_constant", num_constants_), "torch.Tensor");
  if (sample_->module->attributes().size() > before) ++num_constants_;
  return added;
}

}  // namespace graphnet::torchscript
