// The types of results of operations that have several.
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/strip.h"
#include "graphnet/paddle/pir/call_facts.h"

namespace graphnet::pir {

std::optional<std::vector<const ValueMeta*>> SeveralResults(const Call& call, Module* module) {
  const absl::string_view name = absl::StripPrefix(call.node.target(), "pd_op.");
  std::vector<const ValueMeta*> metas;
  if (call.node.target() == "builtin.combine") {
    for (size_t i = 0; i < call.node.args().size(); ++i) {
      const ValueMeta* meta = call.meta(i);
      metas.push_back(meta != nullptr ? meta : module->InternValueMeta(TensorMeta()));
    }
    return std::vector<const ValueMeta*>{module->InternTupleMeta(metas)};
  }
  if (call.node.target() == "builtin.split") {
    const ValueMeta* vec = call.meta(0);
    if (vec == nullptr || !vec->is_tuple) return std::nullopt;
    return std::vector<const ValueMeta*>(vec->elements.begin(), vec->elements.end());
  }
  if (name == "einsum") {
    const ValueMeta* vec = call.meta(0);
    if (vec == nullptr || !vec->is_tuple) return std::nullopt;
    // Its results for the gradient are an empty tensor and its operands.
    for (const ValueMeta* element : vec->elements) {
      const DType dtype = element->tensor == nullptr ? DType::kUnknown : element->tensor->dtype;
      metas.push_back(MetaOf(module, TensorType{dtype, {Dim(0)}}));
    }
    return std::vector<const ValueMeta*>{MetaOf(module, Einsum(call)),
                                         module->InternTupleMeta(metas), vec};
  }
  if (name == "meshgrid") {
    const ValueMeta* vec = call.meta(0);
    if (vec == nullptr || !vec->is_tuple) return std::nullopt;
    Sizes sizes;
    for (const ValueMeta* element : vec->elements) {
      const TensorMeta* line = element->tensor;
      if (line == nullptr || !line->has_shape || line->shape.size() != 1) return std::nullopt;
      sizes.push_back(line->shape[0]);
    }
    for (const ValueMeta* element : vec->elements) {
      metas.push_back(MetaOf(module, TensorType{element->tensor->dtype, sizes}));
    }
    return std::vector<const ValueMeta*>{module->InternTupleMeta(metas)};
  }
  const Result x = call.tensor(0);
  if (!x) return std::nullopt;
  const auto rank = static_cast<int64_t>(x->sizes.size());
  const auto vec = [&](const std::vector<Result>& types) {
    for (const Result& type : types) metas.push_back(MetaOf(module, type));
    return std::vector<const ValueMeta*>{module->InternTupleMeta(metas)};
  };
  const auto axis_at = [&](int64_t axis) -> std::optional<size_t> {
    const int64_t at = At(axis, x->sizes.size());
    const bool fits = at >= 0 && at < rank && x->sizes[static_cast<size_t>(at)].is_static();
    return fits ? std::optional(static_cast<size_t>(at)) : std::nullopt;
  };
  if (name == "unbind") {
    const auto at = axis_at(call.integer("axis").value_or(0));
    if (!at || x->sizes[*at].value > 100000) return std::nullopt;
    TensorType part = *x;
    part.sizes.erase(part.sizes.begin() + static_cast<std::ptrdiff_t>(*at));
    return vec(std::vector<Result>(static_cast<size_t>(x->sizes[*at].value), part));
  }
  if (name == "split_with_num" || name == "split") {
    const auto axis = call.constant(name == "split" ? 2 : 1);
    const auto at = axis && axis->size() == 1 ? axis_at((*axis)[0]) : std::nullopt;
    if (!at) return std::nullopt;
    std::vector<int64_t> sections;
    if (name == "split") {
      const auto given = call.constant(1);
      if (!given) return std::nullopt;
      sections = *given;
    } else {
      const int64_t num = call.integer("num").value_or(0);
      if (num <= 0 || num > 100000 || x->sizes[*at].value % num != 0) return std::nullopt;
      sections.assign(static_cast<size_t>(num), x->sizes[*at].value / num);
    }
    std::vector<Result> parts;
    for (const int64_t size : sections) {
      TensorType part = *x;
      part.sizes[*at] = size;
      parts.emplace_back(std::move(part));
    }
    return vec(parts);
  }
  if (name == "argsort") {
    return std::vector<const ValueMeta*>{MetaOf(module, x),
                                         MetaOf(module, TensorType{DType::kInt64, x->sizes})};
  }
  if (name == "topk") {
    const auto k = call.constant(1);
    const auto at = axis_at(call.integer("axis").value_or(-1));
    if (!k || k->size() != 1 || !at) return std::nullopt;
    TensorType top = *x;
    top.sizes[*at] = (*k)[0];
    return std::vector<const ValueMeta*>{MetaOf(module, top),
                                         MetaOf(module, TensorType{DType::kInt64, top.sizes})};
  }
  if (name == "layer_norm") {
    const int64_t begin = call.integer("begin_norm_axis").value_or(-1);
    if (begin < 0 || begin > rank) return std::nullopt;
    TensorType rows{x->dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32,
                    Sizes(x->sizes.begin(), x->sizes.begin() + begin)};
    const ValueMeta* meta = MetaOf(module, rows);
    return std::vector<const ValueMeta*>{MetaOf(module, x), meta, meta};
  }
  if (name == "dropout") {
    return std::vector<const ValueMeta*>{MetaOf(module, x),
                                         MetaOf(module, TensorType{DType::kUInt8, x->sizes})};
  }
  if (name == "batch_norm_" && x->sizes.size() > 1) {
    const Result mean = call.tensor(1);
    const ValueMeta* meta = MetaOf(module, mean);
    return std::vector<const ValueMeta*>{MetaOf(module, x), meta, meta, meta, meta, nullptr};
  }
  if (name == "group_norm" && !x->sizes.empty()) {
    const ValueMeta* meta = MetaOf(
        module, TensorType{x->dtype, {x->sizes[0], Dim(call.integer("groups").value_or(1))}});
    return std::vector<const ValueMeta*>{MetaOf(module, x), meta, meta};
  }
  return std::nullopt;
}

}  // namespace graphnet::pir
