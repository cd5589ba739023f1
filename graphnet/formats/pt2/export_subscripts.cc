// Writes subscripts of tensors as Python does: one view after the other, then one indexing by all
// tensors. Also writes tensors of numbers. See graph_exporter.h.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/pt2/graph_exporter.h"
#include "graphnet/ir/node_error.h"

namespace graphnet::pt2 {
namespace {

using Kind = ExportValue::Kind;

bool IsIndexTensor(const ExportValue& value) { return value.kind == Kind::kTensor; }

// Returns how many dimensions an index tensor takes: its own number of dimensions if it is a mask.
size_t DimsTaken(const ExportValue& index) {
  const bool is_mask = index.meta != nullptr &&
                       (index.meta->dtype == DType::kBool || index.meta->dtype == DType::kUInt8);
  return is_mask ? index.meta->shape.size() : 1;
}

}  // namespace

absl::StatusOr<ExportValue> GraphExporter::MakeCall(
    const Node& node, absl::string_view target, absl::Span<const ExportValue> args,
    absl::Span<const std::pair<absl::string_view, ExportValue>> kwargs, absl::string_view name,
    const TensorMeta* meta, Scope* scope) {
  static constexpr absl::string_view kNames[] = {"self", "dim", "start", "end", "step"};
  JsonWriter inputs, outputs;
  inputs.StartArray();
  for (size_t i = 0; i < args.size(); ++i) {
    // The schema gives the names.
    absl::string_view parameter = kNames[std::min(i, std::size(kNames) - 1)];
    if (target == "torch.ops.aten.select.int" && i == 2) parameter = "index";
    if (target == "torch.ops.aten.scalar_tensor.default" && i == 0) parameter = "s";
    if (target == "torch.ops.aten.index.Tensor" && i == 1) parameter = "indices";
    if (target == "torch.ops.aten.index_put_.default" && i > 0) {
      parameter = i == 1 ? "indices" : "values";
    }
    if (target == "torch.ops.aten.copy_.default" && i == 1) parameter = "src";
    if (target == "torch.ops.aten.fill_.Scalar" && i == 1) parameter = "value";
    if (target == "torch.ops.aten.stack.default" && i == 0) parameter = "tensors";
    if (target == "torch.ops.aten.view.default" && i == 1) parameter = "size";
    if (target == "torch.ops.aten.full.default") parameter = i == 0 ? "size" : "fill_value";
    RETURN_IF_ERROR(WriteInput(node, parameter, 1, args[i], nullptr, scope, &inputs));
  }
  for (const auto& [keyword, value] : kwargs) {
    RETURN_IF_ERROR(WriteInput(node, keyword, 2, value, nullptr, scope, &inputs));
  }
  inputs.EndArray();
  ASSIGN_OR_RETURN(ExportValue value, AddTensor(name, meta, node, scope));
  outputs.StartArray();
  RETURN_IF_ERROR(WriteArgument(node, value, nullptr, scope, &outputs));
  outputs.EndArray();
  WriteNode(&node, target, inputs.text(), outputs.text(), name, std::nullopt, scope);
  return value;
}

absl::StatusOr<GraphExporter::Subscript> GraphExporter::SubscriptOf(const Node& node,
                                                                    const ExportValue& tensor,
                                                                    const Argument& subscript,
                                                                    const TensorMeta* result,
                                                                    Scope* scope) {
  if (tensor.meta == nullptr || !tensor.meta->has_shape) {
    return NodeError(node, "the shape of the indexed tensor is not known");
  }
  const bool is_tuple = subscript.is_tuple() || subscript.is_list();
  const absl::Span<const Argument> given =
      is_tuple ? subscript.elements() : absl::MakeConstSpan(&subscript, 1);
  struct Index {
    Argument argument;
    ExportValue value;
  };
  std::vector<Index> indices;
  size_t taken = 0, ellipsis = given.size();
  bool has_tensor = false;
  for (const Argument& argument : given) {
    Index index{argument, {}};
    const Argument::Kind kind = argument.kind();
    if (kind == Argument::Kind::kEllipsis) {
      if (ellipsis != given.size()) return NodeError(node, "a second ellipsis");
      ellipsis = indices.size();
    } else if (kind == Argument::Kind::kSlice) {
      ++taken;
    } else if (!argument.is_none()) {
      ASSIGN_OR_RETURN(index.value, Resolve(node, argument, scope));
      const bool is_number = index.value.is_int() || index.value.kind == Kind::kInt;
      if (!is_number && !IsIndexTensor(index.value)) {
        return NodeError(node, "an index that is neither a number, a slice nor a tensor");
      }
      has_tensor = has_tensor || !is_number;
      taken += is_number ? 1 : DimsTaken(index.value);
    }
    indices.push_back(std::move(index));
  }
  std::vector<Dim> shape(tensor.meta->shape.begin(), tensor.meta->shape.end());
  if (taken > shape.size()) return NodeError(node, "it has more indices than dimensions");
  Subscript made{.view = tensor, .tensors = {}};
  // The result's dimensions are known until a tensor index takes some.
  const auto from_result = [&](size_t dim) -> const Dim* {
    if (has_tensor || result == nullptr || !result->has_shape || dim >= result->shape.size()) {
      return nullptr;
    }
    return &result->shape[dim];
  };
  const auto view = [&](absl::string_view target, std::vector<ExportValue> args) -> absl::Status {
    TensorMeta meta = *tensor.meta;
    meta.shape = shape;
    const ValueMeta* const kept = scratch_.InternValueMeta(meta);
    const absl::string_view base = target.substr(15, target.rfind('.') - 15);
    const absl::string_view name =
        arena_.Copy(absl::string_view(Unique(absl::StrCat(node.name(), "_", base), scope)));
    args.insert(args.begin(), made.view);
    ASSIGN_OR_RETURN(made.view, MakeCall(node, target, args, {}, name, kept->tensor, scope));
    return absl::OkStatus();
  };
  size_t dim = 0;
  for (size_t i = 0; i < indices.size(); ++i) {
    const Index& index = indices[i];
    if (i == ellipsis) {
      dim += tensor.meta->shape.size() - taken;
      continue;
    }
    if (index.argument.is_none()) {
      shape.insert(shape.begin() + static_cast<ptrdiff_t>(dim), Dim(1));
      RETURN_IF_ERROR(view("torch.ops.aten.unsqueeze.default", {Argument(dim)}));
      ++dim;
      continue;
    }
    if (index.argument.kind() == Argument::Kind::kSlice) {
      const absl::Span<const Argument> bounds = index.argument.elements();
      if (absl::c_all_of(bounds, [](const Argument& bound) { return bound.is_none(); })) {
        ++dim;
        continue;
      }
      std::vector<ExportValue> args = {Argument(dim)};
      for (const Argument& bound : bounds) {
        ASSIGN_OR_RETURN(args.emplace_back(), Resolve(node, bound, scope));
      }
      if (args[3].is_none()) args[3] = Argument(1);
      const bool is_static = shape[dim].is_static() && args[3].is_int() &&
                             (args[1].is_none() || args[1].is_int()) &&
                             (args[2].is_none() || args[2].is_int());
      if (is_static && args[3].literal.integer() > 0) {
        const int64_t n = shape[dim].value;
        const auto bound = [n](const ExportValue& value, int64_t otherwise) {
          if (value.is_none()) return otherwise;
          const int64_t at = value.literal.integer();
          return std::clamp<int64_t>(at < 0 ? at + n : at, 0, n);
        };
        const int64_t step = args[3].literal.integer();
        const int64_t length = bound(args[2], n) - bound(args[1], 0);
        shape[dim] = length <= 0 ? 0 : (length - 1) / step + 1;
      } else if (const Dim* const size = from_result(dim)) {
        shape[dim] = *size;
      } else {
        return NodeError(node, "the size of a slice is not known");
      }
      RETURN_IF_ERROR(view("torch.ops.aten.slice.Tensor", std::move(args)));
      ++dim;
      continue;
    }
    if (!IsIndexTensor(index.value)) {
      shape.erase(shape.begin() + static_cast<ptrdiff_t>(dim));
      RETURN_IF_ERROR(view("torch.ops.aten.select.int", {Argument(dim), index.value}));
      continue;
    }
    made.tensors.resize(dim);
    made.tensors.push_back(index.value);
    // A mask is one index, though it takes several dimensions.
    const size_t more = DimsTaken(index.value) - 1;
    if (more > 0) {
      const bool is_last = absl::c_all_of(
          absl::MakeConstSpan(indices).subspan(i + 1),
          [](const Index& later) { return later.argument.kind() == Argument::Kind::kEllipsis; });
      if (!is_last) return NodeError(node, "an index follows a mask of several dimensions");
    }
    ++dim;
  }
  return made;
}

absl::StatusOr<ExportValue> GraphExporter::ExportGetItem(const Node& node,
                                                         const ExportValue& tensor, Scope* scope) {
  ASSIGN_OR_RETURN(const Subscript subscript,
                   SubscriptOf(node, tensor, node.args()[1], node.tensor_meta(), scope));
  if (!subscript.tensors.empty()) {
    return MakeCall(node, "torch.ops.aten.index.Tensor",
                    {subscript.view, ExportValue::Sequence(Kind::kList, subscript.tensors)}, {},
                    NameOf(node, scope), node.tensor_meta(), scope);
  }
  if (subscript.view.name != tensor.name) return subscript.view;
  return MakeCall(node, "torch.ops.aten.alias.default", {tensor}, {}, NameOf(node, scope),
                  tensor.meta, scope);
}

absl::StatusOr<ExportValue> GraphExporter::ExportSetItem(const Node& node,
                                                         const ExportValue& tensor, Scope* scope) {
  ASSIGN_OR_RETURN(const Subscript subscript,
                   SubscriptOf(node, tensor, node.args()[1], nullptr, scope));
  ASSIGN_OR_RETURN(ExportValue value, Resolve(node, node.args()[2], scope));
  const ExportValue& view = subscript.view;
  const auto name = [&](absl::string_view base) {
    return arena_.Copy(absl::string_view(Unique(base, scope)));
  };
  if (subscript.tensors.empty()) {
    const bool is_tensor = value.kind == Kind::kTensor;
    RETURN_IF_ERROR(
        MakeCall(node, is_tensor ? "torch.ops.aten.copy_.default" : "torch.ops.aten.fill_.Scalar",
                 {view, value}, {}, name(is_tensor ? "copy_" : "fill_"), view.meta, scope)
            .status());
    return ExportValue();
  }
  if (value.kind != Kind::kTensor) {
    TensorMeta meta = *view.meta;
    meta.shape = {};
    const ValueMeta* const kept = scratch_.InternValueMeta(meta);
    ASSIGN_OR_RETURN(value,
                     MakeCall(node, "torch.ops.aten.scalar_tensor.default", {value},
                              {{"dtype", Argument(meta.dtype)}, {"device", Argument(meta.device)}},
                              name("scalar_tensor"), kept->tensor, scope));
  }
  RETURN_IF_ERROR(MakeCall(node, "torch.ops.aten.index_put_.default",
                           {view, ExportValue::Sequence(Kind::kList, subscript.tensors), value}, {},
                           name("index_put_"), view.meta, scope)
                      .status());
  return ExportValue();
}

// torch.tensor(data, dtype=…, device=…) of a number.
namespace {

// Most elements of a list that becomes a tensor.
constexpr size_t kMaxListed = 4096;

// Gives a nested list's numbers in row-major order, and its sizes; false if uneven or not a list.
bool Flatten(const ExportValue& value, size_t depth, std::vector<int64_t>* sizes,
             std::vector<ExportValue>* numbers) {
  if (!value.is_sequence()) {
    if (depth != sizes->size() || !value.is_number()) return false;
    numbers->push_back(value);
    return numbers->size() <= kMaxListed;
  }
  const auto size = static_cast<int64_t>(value.elements->size());
  if (depth == sizes->size()) {
    if (!numbers->empty() || depth == kMaxRank) return false;
    sizes->push_back(size);
  }
  return (*sizes)[depth] == size && absl::c_all_of(*value.elements, [&](const ExportValue& e) {
           return Flatten(e, depth + 1, sizes, numbers);
         });
}

// Returns the dtype of a tensor of these numbers, kUnknown if it is not known.
DType DTypeOfNumbers(const Node& node, absl::Span<const ExportValue> numbers) {
  if (IsKnown(node.tensor_meta())) return node.tensor_meta()->dtype;
  const Argument* const given = node.kwarg("dtype");
  if (given != nullptr && !given->is_none())
    return given->kind() == Argument::Kind::kDType ? given->dtype() : DType::kUnknown;
  // TorchScript chooses one.
  const auto all = [&](bool (Argument::*is)() const, Kind kind) {
    return !numbers.empty() && absl::c_all_of(numbers, [&](const ExportValue& n) {
      return n.is_literal() ? (n.literal.*is)() : n.kind == kind;
    });
  };
  if (all(&Argument::is_bool, Kind::kBool)) return DType::kBool;
  if (all(&Argument::is_int, Kind::kInt)) return DType::kInt64;
  return DType::kFloat32;
}

constexpr absl::string_view kUnknownDType =
    "the dtype of its value is not known; `graphnet shapes` says why";

}  // namespace

// Writes torch.tensor of a list of numbers: one tensor per number, then a stack of them.
absl::StatusOr<ExportValue> GraphExporter::ExportListed(const Node& node, const ExportValue& list,
                                                        Scope* scope) {
  std::vector<int64_t> sizes;
  std::vector<ExportValue> numbers;
  if (!Flatten(list, 0, &sizes, &numbers)) {
    return NodeError(node, absl::StrCat("torch.export makes tensors of numbers and of even lists "
                                        "of at most ",
                                        kMaxListed, " only"));
  }
  TensorMeta meta{.has_device = true, .has_shape = true};
  if (node.tensor_meta() != nullptr) meta.device = node.tensor_meta()->device;
  meta.dtype = DTypeOfNumbers(node, numbers);
  if (meta.dtype == DType::kUnknown) return NodeError(node, kUnknownDType);
  const std::vector<std::pair<absl::string_view, ExportValue>> kwargs = {
      {"dtype", Argument(meta.dtype)}, {"device", Argument(meta.device)}};
  const auto name = [&](absl::string_view base) {
    return arena_.Copy(absl::string_view(Unique(absl::StrCat(node.name(), "_", base), scope)));
  };
  const auto kept = [&](absl::Span<const int64_t> shape) {
    const std::vector<Dim> dims(shape.begin(), shape.end());
    meta.shape = dims;
    return scratch_.InternValueMeta(meta)->tensor;
  };
  std::vector<ExportValue> elements;
  for (const ExportValue& number : numbers) {
    ASSIGN_OR_RETURN(elements.emplace_back(),
                     MakeCall(node, "torch.ops.aten.scalar_tensor.default", {number}, kwargs,
                              name("element"), kept({}), scope));
  }
  const auto count = static_cast<int64_t>(numbers.size());
  std::vector<ExportValue> size;
  for (const int64_t n : sizes) size.emplace_back(Argument(n));
  const ExportValue shape = ExportValue::Sequence(Kind::kList, std::move(size));
  if (elements.empty()) {
    return MakeCall(node, "torch.ops.aten.full.default", {shape, Argument(0)}, kwargs,
                    NameOf(node, scope), kept(sizes), scope);
  }
  const bool is_flat = sizes.size() == 1;
  ASSIGN_OR_RETURN(ExportValue flat,
                   MakeCall(node, "torch.ops.aten.stack.default",
                            {ExportValue::Sequence(Kind::kList, std::move(elements))}, {},
                            is_flat ? NameOf(node, scope) : name("flat"), kept({count}), scope));
  if (is_flat) return flat;
  return MakeCall(node, "torch.ops.aten.view.default", {flat, shape}, {}, NameOf(node, scope),
                  kept(sizes), scope);
}

absl::StatusOr<ExportValue> GraphExporter::ExportTensor(const Node& node,
                                                        absl::Span<const ExportValue> args,
                                                        Scope* scope) {
  if (!args.empty() && args[0].is_sequence()) return ExportListed(node, args[0], scope);
  const bool is_number =
      !args.empty() && (args[0].is_number() || args[0].kind == Kind::kInt ||
                        args[0].kind == Kind::kFloat || args[0].kind == Kind::kBool);
  const TensorMeta* meta = node.tensor_meta();
  if (!is_number) return NodeError(node, "torch.export makes tensors of numbers only");
  const ExportValue& number = args[0];
  if (!IsKnown(meta)) {
    const DType dtype = DTypeOfNumbers(node, {number});
    if (dtype == DType::kUnknown) return NodeError(node, kUnknownDType);
    meta =
        scratch_.InternValueMeta({.dtype = dtype, .has_device = true, .has_shape = true})->tensor;
  }
  std::vector<std::pair<absl::string_view, ExportValue>> kwargs = {
      {"dtype", Argument(meta->dtype)}};
  if (const Argument* const device = node.kwarg("device");
      device != nullptr && !device->is_none()) {
    ASSIGN_OR_RETURN(ExportValue value, Resolve(node, *device, scope));
    kwargs.emplace_back("device", value);
  }
  return MakeCall(node, "torch.ops.aten.scalar_tensor.default", {number}, kwargs,
                  NameOf(node, scope), meta, scope);
}

}  // namespace graphnet::pt2
