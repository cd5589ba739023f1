// Rewrites calls that compilers refuse or miscompile in their own form.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/mlir/resample.h"
#include "graphnet/formats/mlir/spelling.h"
#include "graphnet/formats/mlir/types.h"
#include "graphnet/formats/mlir/writer.h"
#include "graphnet/ir/tensor_meta.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/schema.h"

namespace graphnet::mlir {
namespace {

// The most rows that are summed for one row of a pool.
constexpr int64_t kMaxPooledRows = 64;

}  // namespace

absl::Status Writer::CheckIndices(const Node& node, const Schema& schema) const {
  if (schema.name == "index" && absl::c_any_of(schema.Given(node, "indices")->elements(), IsMask)) {
    return Error("a mask as an index: the shape of the result depends on values");
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> Writer::WriteMaskedPut(const Node& node, const Schema& schema) {
  const absl::Span<const Argument> indices = schema.Given(node, "indices")->elements();
  if (absl::c_none_of(indices, IsMask)) return false;
  const TensorMeta* const self = MetaOf(schema.Given(node, size_t{0}));
  const TensorMeta* const mask = MetaOf(&indices[0]);
  const TensorMeta* const values = MetaOf(schema.Given(node, "values"));
  const Argument* const accumulate = schema.Given(node, "accumulate");
  const bool adds = accumulate != nullptr && !(accumulate->is_bool() && !accumulate->boolean());
  if (indices.size() != 1 || adds || self == nullptr || mask == nullptr || values == nullptr ||
      mask->dtype != DType::kBool || !self->has_shape || self->shape != mask->shape ||
      !values->has_shape || !values->shape.empty() || values->dtype != self->dtype) {
    return Error(
        "a mask as an index: only one mask of the tensor's shape and one number can be written");
  }
  const std::optional<std::string> type = TensorType(self);
  if (!type) return UnknownMeta();
  ASSIGN_OR_RETURN(const Value where, OperandOf(node, schema, 0));
  ASSIGN_OR_RETURN(const Value condition,
                   NodeOperand(*indices[0].node(), {.kind = SchemaType::Kind::kTensor}));
  ASSIGN_OR_RETURN(const Value value, OperandOf(node, schema, 2));
  values_[&node] = Emit(node.name(), "torch.aten.where.self", {condition, value, where}, *type);
  return true;
}

absl::StatusOr<bool> Writer::WriteFull(const Node& node, const Schema& schema) {
  const Argument* const fill = schema.Given(node, "fill_value");
  const TensorMeta* const made = node.tensor_meta();
  if (fill == nullptr || !fill->is_node() || made == nullptr || !made->is_static()) return false;
  const Callable callee = CalleeOf(*fill->node());
  if (callee.kind != Callable::Kind::kOperator ||
      (callee.name != "item" && callee.name != "_local_scalar_dense"))
    return false;
  return WriteSpread(node, fill->node()->args()[0]);
}

absl::StatusOr<bool> Writer::WriteFill(const Node& node, const Schema& schema) {
  const Argument* const value = schema.Given(node, "value");
  const TensorMeta* const made = node.tensor_meta();
  if (value == nullptr || made == nullptr || !made->is_static()) return false;
  return WriteSpread(node, *value);
}

absl::StatusOr<bool> Writer::WriteSpread(const Node& node, const Argument& source) {
  const TensorMeta* const made = node.tensor_meta();
  const TensorMeta* const meta = MetaOf(&source);
  if (meta == nullptr || !meta->is_static()) return false;
  ASSIGN_OR_RETURN(const Value tensor,
                   Operand(source, SchemaType{.kind = SchemaType::Kind::kTensor}));
  const std::string name(node.name());
  const Value single = EmitSized(name + ".single", "torch.aten.view", tensor, *meta, {}, {});
  TensorMeta cast = *meta;
  cast.dtype = made->dtype;
  cast.shape = {};
  const std::optional<int64_t> dtype = ScalarTypeNumber(made->dtype);
  if (!dtype || !TensorType(&cast)) return UnknownMeta();
  const Value number =
      Emit(name + ".number", "torch.aten.to.dtype",
           {single, Int(*dtype), Bool(false), Bool(false), None()}, *TensorType(&cast));
  const std::vector<Dim> sizes(made->shape.begin(), made->shape.end());
  values_[&node] = EmitSized(name, "torch.aten.expand", number, *made, sizes, {Bool(false)});
  return true;
}

absl::Status Writer::WritePrelu(const Node& node, const Schema& schema) {
  const TensorMeta* const x = MetaOf(schema.Given(node, size_t{0}));
  const TensorMeta* const weight = MetaOf(schema.Given(node, size_t{1}));
  const std::optional<std::string> type = TensorType(node.tensor_meta());
  if (x == nullptr || weight == nullptr || !x->has_shape || !weight->has_shape || !type)
    return UnknownMeta();
  std::vector<Dim> shape(x->shape.size(), Dim(1));
  if (shape.size() > 1 && weight->shape.size() == 1) {
    if (!weight->shape[0].is_static()) return UnknownMeta();
    shape[1] = weight->shape[0];
  }
  TensorMeta condition = *x;
  condition.dtype = DType::kBool;
  const std::string name(node.name());
  ASSIGN_OR_RETURN(const Value self, OperandOf(node, schema, 0));
  ASSIGN_OR_RETURN(const Value given, OperandOf(node, schema, 1));
  const Value slope = EmitSized(name + ".weight", "torch.aten.view", given, *weight, shape, {});
  const Value product = Emit(name + ".product", "torch.aten.mul.Tensor", {self, slope}, *type);
  const Value positive =
      Emit(name + ".positive", "torch.aten.gt.Scalar", {self, Int(0)}, *TensorType(&condition));
  values_[&node] = Emit(name, "torch.aten.where.self", {positive, self, product}, *type);
  return absl::OkStatus();
}

absl::Status Writer::WriteUpsample(const Node& node, const Schema& schema) {
  const TensorMeta* const x = MetaOf(schema.Given(node, size_t{0}));
  const TensorMeta* const made = node.tensor_meta();
  if (x == nullptr || !x->has_shape || !TensorType(made) || !made->has_shape ||
      x->shape.size() != made->shape.size() || x->shape.size() < 3)
    return UnknownMeta();
  // "upsample_nearest2d", "_upsample_nearest_exact1d", "upsample_bicubic2d"
  const absl::string_view mode = absl::StrContains(schema.name, "exact")     ? "nearest-exact"
                                 : absl::StrContains(schema.name, "nearest") ? "nearest"
                                 : absl::StrContains(schema.name, "cubic")   ? "cubic"
                                                                             : "linear";
  ASSIGN_OR_RETURN(Value value, OperandOf(node, schema, 0));
  if (!x->is_static() || !made->is_static()) return WriteInterpolate(node, schema, value);
  const std::vector<Dim> sizes(made->shape.begin(), made->shape.end());
  if (absl::StartsWith(mode, "nearest")) {
    std::vector<Dim> wide(x->shape.begin(), x->shape.begin() + 2), full = wide;
    bool is_whole = true;
    for (size_t i = 2; i < x->shape.size(); ++i) {
      const int64_t from = x->shape[i].value, to = made->shape[i].value;
      is_whole = is_whole && from > 0 && to % from == 0;
      if (!is_whole) break;
      wide.insert(wide.end(), {Dim(from), Dim(1)});
      full.insert(full.end(), {Dim(from), Dim(to / from)});
    }
    if (is_whole) {
      const std::string name(node.name());
      const Value apart = EmitSized(name + ".apart", "torch.aten.view", value, *x, wide, {});
      const Value repeated =
          EmitSized(name + ".repeated", "torch.aten.expand", apart, *x, full, {Bool(false)});
      values_[&node] = EmitSized(name, "torch.aten.reshape", repeated, *x, sizes, {});
      return absl::OkStatus();
    }
  }
  if (!IsFloatingPoint(x->dtype) && mode != "nearest" && mode != "nearest-exact")
    return Error("integers cannot be resampled");
  const Argument* const align = schema.Given(node, "align_corners");
  const Argument* const factors = schema.Given(node, "scale_factors");
  for (size_t i = 2; i < sizes.size(); ++i) {
    if (x->shape[i].value <= 0 || sizes[i].value <= 0)
      return Error("an empty dimension cannot be resampled");
    Resampling resampling = {.mode = mode, .from = x->shape[i].value, .to = sizes[i].value};
    resampling.align_corners = align != nullptr && align->is_bool() && align->boolean();
    if (factors != nullptr && factors->is_aggregate()) {
      const Argument factor =
          i - 2 < factors->elements().size() ? factors->elements()[i - 2] : Argument();
      if (!factor.is_float() && !factor.is_int()) return Error("a scale factor is not a number");
      resampling.factor = factor.is_float() ? factor.real() : static_cast<double>(factor.integer());
    }
    value = WriteTaps(node, value, *x, sizes, i, TapsOf(resampling));
  }
  values_[&node] = std::move(value);
  return absl::OkStatus();
}

absl::StatusOr<bool> Writer::WriteAdaptivePool(const Node& node, const Schema& schema) {
  const TensorMeta* const x = MetaOf(schema.Given(node, size_t{0}));
  const TensorMeta* const made = node.tensor_meta();
  if (x == nullptr || made == nullptr || !x->has_shape || !made->has_shape || !x->is_static() ||
      !made->is_static() || x->shape.size() != made->shape.size() || !TensorType(made) ||
      !IsFloatingPoint(x->dtype))
    return false;
  bool divides = true;
  for (size_t i = 0; i < x->shape.size(); ++i) {
    const int64_t from = x->shape[i].value, to = made->shape[i].value;
    if (from <= 0 || to <= 0 || (from > to && from / to > kMaxPooledRows)) return false;
    divides = divides && from % to == 0;
  }
  if (divides) return false;
  ASSIGN_OR_RETURN(Value value, OperandOf(node, schema, 0));
  const std::vector<Dim> sizes(made->shape.begin(), made->shape.end());
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t from = x->shape[i].value, to = sizes[i].value;
    if (from != to) value = WriteTaps(node, value, *x, sizes, i, MeanTaps(from, to));
  }
  values_[&node] = std::move(value);
  return true;
}

absl::Status Writer::WriteInterpolate(const Node& node, const Schema& schema, const Value& x) {
  absl::string_view mode = absl::StripPrefix(schema.name, "upsample_");
  mode = mode.substr(0, mode.size() - 2);
  const Argument* const align = schema.Given(node, "align_corners");
  std::vector<Value> operands = {x};
  for (const absl::string_view name : {"output_size", "scale_factors"}) {
    ASSIGN_OR_RETURN(operands.emplace_back(), OperandOf(node, schema, schema.IndexOf(name)));
  }
  operands.push_back(
      Constant("str", absl::StrCat("torch.constant.str ", Quoted(mode)), "!torch.str"));
  operands.push_back(align == nullptr ? None() : Bool(align->is_bool() && align->boolean()));
  operands.insert(operands.end(), {None(), Bool(false)});
  values_[&node] = Emit(node.name(), "torch.aten.__interpolate.size_list_scale_list", operands,
                        *TensorType(node.tensor_meta()));
  return absl::OkStatus();
}

Value Writer::WriteTaps(const Node& node, const Value& value, const TensorMeta& x,
                        const std::vector<Dim>& sizes, size_t dim, const std::vector<Tap>& taps) {
  std::vector<Dim> shape(x.shape.begin(), x.shape.end());
  std::copy_n(sizes.begin(), dim + 1, shape.begin());
  TensorMeta made = x;
  made.shape = shape;
  const std::string type = *TensorType(&made);
  std::vector<Dim> along(shape.size() - dim, Dim(1));
  along[0] = sizes[dim];
  const std::string name(node.name());
  Value sum;
  for (const Tap& tap : taps) {
    const Value index =
        Literal(absl::StrJoin(tap.indices, ", "), tap.indices.size(), DType::kInt64);
    Value part =
        Emit(name, "torch.aten.index_select", {value, Int(static_cast<int64_t>(dim)), index}, type);
    if (taps.size() > 1) {
      const auto text = [](std::string* out, double weight) {
        absl::StrAppend(out, FloatText(weight));
      };
      const Value weights =
          Literal(absl::StrJoin(tap.weights, ", ", text), tap.weights.size(), x.dtype);
      const Value turned = EmitSized(name + ".weights", "torch.aten.view", weights, x, along, {});
      part = Emit(name, "torch.aten.mul.Tensor", {part, turned}, type);
    }
    sum = sum.name.empty() ? part : Emit(name, "torch.aten.add.Tensor", {sum, part, Int(1)}, type);
  }
  return sum;
}

Value Writer::Literal(const std::string& elements, size_t size, DType dtype) {
  const Dim dims[] = {Dim(static_cast<int64_t>(size))};
  const TensorMeta meta = {.dtype = dtype, .has_shape = true, .shape = dims};
  return Constant("literal",
                  absl::StrCat("torch.vtensor.literal(dense<[", elements, "]> : tensor<", size, "x",
                               ElementType(dtype), ">) : ", *TensorType(&meta)),
                  *TensorType(&meta));
}

absl::Status Writer::WriteMeshgrid(const Node& node, const Schema& schema) {
  const Argument* const vectors = schema.Given(node, size_t{0});
  const Argument* const indexing = schema.Given(node, "indexing");
  const ValueMeta* const meta = node.meta();
  if (meta == nullptr || !meta->is_tuple || vectors == nullptr || !vectors->is_aggregate() ||
      vectors->elements().size() != meta->elements.size())
    return UnknownMeta();
  const bool is_swapped =
      indexing != nullptr && indexing->is_string() && indexing->string() == "xy";
  const std::string name(node.name());
  const size_t rank = meta->elements.size();
  const auto along = [&](size_t i) { return is_swapped && rank > 1 && i < 2 ? 1 - i : i; };
  std::vector<Value> operands, sizes(rank);
  for (size_t i = 0; i < rank; ++i) {
    const TensorMeta* const element =
        meta->elements[i] == nullptr ? nullptr : meta->elements[i]->tensor;
    if (element == nullptr || !element->has_shape || element->shape.size() != rank)
      return UnknownMeta();
    ASSIGN_OR_RETURN(
        operands.emplace_back(),
        Operand(vectors->elements()[i], SchemaType{.kind = SchemaType::Kind::kTensor}));
    const Dim& size = element->shape[along(i)];
    sizes[along(i)] = size.is_static() ? Int(size.value)
                                       : Emit(name + ".size", "torch.aten.size.int",
                                              {operands[i], Int(0)}, "!torch.int");
  }
  std::vector<Value> made;
  for (size_t i = 0; i < rank; ++i) {
    const TensorMeta& element = *meta->elements[i]->tensor;
    const std::vector<Dim> full(element.shape.begin(), element.shape.end());
    std::vector<Dim> thin(rank, Dim(1));
    std::vector<Value> thin_sizes(rank, Int(1));
    thin[along(i)] = full[along(i)];
    thin_sizes[along(i)] = sizes[along(i)];
    const Value turned =
        EmitSized(name + ".thin", "torch.aten.view", operands[i], element, thin, thin_sizes, {});
    made.push_back(
        EmitSized(name, "torch.aten.expand", turned, element, full, sizes, {Bool(false)}));
  }
  elements_[&node] = std::move(made);
  return absl::OkStatus();
}

Value Writer::EmitSized(absl::string_view name, absl::string_view operation, const Value& tensor,
                        const TensorMeta& like, const std::vector<Dim>& shape,
                        const std::vector<Value>& more) {
  std::vector<Value> sizes;
  for (const Dim& dim : shape) sizes.push_back(Int(dim.value));
  return EmitSized(name, operation, tensor, like, shape, sizes, more);
}

Value Writer::EmitSized(absl::string_view name, absl::string_view operation, const Value& tensor,
                        const TensorMeta& like, const std::vector<Dim>& shape,
                        const std::vector<Value>& sizes, const std::vector<Value>& more) {
  TensorMeta meta = like;
  meta.shape = shape;
  std::vector<Value> operands = {
      tensor, Emit("list", "torch.prim.ListConstruct", sizes, "!torch.list<int>")};
  operands.insert(operands.end(), more.begin(), more.end());
  return Emit(name, operation, operands, *TensorType(&meta));
}

absl::Status Writer::WriteMaskedAttention(const Node& node, const Schema& schema) {
  const auto meta_of = [&](absl::string_view name) { return MetaOf(schema.Given(node, name)); };
  const TensorMeta *const q = meta_of("query"), *const k = meta_of("key"),
                          *const v = meta_of("value"), *const mask = meta_of("attn_mask");
  const auto is_off = [&](absl::string_view name) {
    const Argument* const given = schema.Given(node, name);
    return given == nullptr || (given->is_bool() && !given->boolean()) ||
           (given->is_int() && given->integer() == 0) || (given->is_float() && given->real() == 0);
  };
  if (!is_off("dropout_p") || !is_off("is_causal") || !is_off("enable_gqa"))
    return Error("attention with a mask cannot be combined with dropout, is_causal or enable_gqa");
  const std::optional<std::string> type = TensorType(node.tensor_meta());
  if (q == nullptr || k == nullptr || v == nullptr || mask == nullptr || !type ||
      q->shape.size() < 2 || q->shape.size() != k->shape.size() || !q->shape.back().is_static())
    return UnknownMeta();
  const size_t rank = q->shape.size();
  double scale = 1 / std::sqrt(static_cast<double>(q->shape.back().value));
  if (const Argument* given = schema.Given(node, "scale"); given != nullptr && !given->is_none()) {
    if (!given->is_float() && !given->is_int()) return Error("the scale is not a number");
    scale = given->is_float() ? given->real() : static_cast<double>(given->integer());
  }
  std::vector<Dim> turned(k->shape.begin(), k->shape.end());
  std::swap(turned[rank - 1], turned[rank - 2]);
  std::vector<Dim> scores(q->shape.begin(), q->shape.end());
  scores.back() = k->shape[rank - 2];
  const auto typed = [&](const std::vector<Dim>& shape) {
    TensorMeta meta = *q;
    meta.shape = shape;
    return *TensorType(&meta);
  };
  const std::string name(node.name()), scores_type = typed(scores);
  ASSIGN_OR_RETURN(const Value query, OperandOf(node, schema, schema.IndexOf("query")));
  ASSIGN_OR_RETURN(const Value key, OperandOf(node, schema, schema.IndexOf("key")));
  ASSIGN_OR_RETURN(const Value value, OperandOf(node, schema, schema.IndexOf("value")));
  ASSIGN_OR_RETURN(const Value given_mask, OperandOf(node, schema, schema.IndexOf("attn_mask")));
  const Value key_t =
      Emit(name + ".key", "torch.aten.transpose.int", {key, Int(-2), Int(-1)}, typed(turned));
  const Value product = Emit(name + ".product", "torch.aten.matmul", {query, key_t}, scores_type);
  const Value scaled =
      Emit(name + ".scaled", "torch.aten.mul.Scalar", {product, Float(scale)}, scores_type);
  const Value masked =
      mask->dtype == DType::kBool
          ? Emit(name + ".masked", "torch.aten.where.ScalarOther",
                 {given_mask, scaled, Float(-std::numeric_limits<double>::infinity())}, scores_type)
          : Emit(name + ".masked", "torch.aten.add.Tensor", {scaled, given_mask, Int(1)},
                 scores_type);
  const Value weights =
      Emit(name + ".weights", "torch.aten._safe_softmax", {masked, Int(-1), None()}, scores_type);
  values_[&node] = Emit(name, "torch.aten.matmul", {weights, value}, *type);
  return absl::OkStatus();
}

}  // namespace graphnet::mlir
