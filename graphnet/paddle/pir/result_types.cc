#include "graphnet/paddle/pir/result_types.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "graphnet/ir/module.h"
#include "graphnet/paddle/pir/call_facts.h"
#include "graphnet/paddle/pir/operators.h"

namespace graphnet::pir {
namespace {

bool IsOne(const Dim& dim) { return dim.is_static() && dim.value == 1; }

// Broadcasts two shapes. In a program that runs, two sizes other than 1 are equal, or one of them
// is a symbol whose value is 1. So a number wins over a symbol, and two symbols give their maximum.
std::optional<Sizes> Broadcast(Module* module, Sizes a, Sizes b) {
  if (a.size() < b.size()) std::swap(a, b);
  for (size_t i = 0; i < b.size(); ++i) {
    Dim& to = a[a.size() - b.size() + i];
    const Dim& from = b[i];
    if (to == from || IsOne(from)) continue;
    if (to.is_static() && from.is_static() && !IsOne(to)) return std::nullopt;
    if (IsOne(to) || from.is_static()) {
      to = from;
    } else if (!to.is_static()) {
      to = Dim(module->SymBinary(SymExpr::Kind::kMax, to.expr, from.expr));
    }
  }
  return a;
}

Result Same(const Call& call) { return call.tensor(0); }

// Returns the type of an element-wise result of operands `first` and `second`, with the dtype of
// the first.
Result Broadcasted(const Call& call, size_t first, size_t second) {
  const Result a = call.tensor(first);
  const Result b = call.tensor(second);
  if (!a || !b) return std::nullopt;
  const std::optional<Sizes> sizes = Broadcast(call.module(), a->sizes, b->sizes);
  if (!sizes) return std::nullopt;
  return TensorType{a->dtype, *sizes};
}

Result Binary(const Call& call) { return Broadcasted(call, 0, 1); }

Result Where(const Call& call) {
  Result result = Broadcasted(call, 1, 2);
  const Result condition = call.tensor(0);
  if (!result || !condition) return std::nullopt;
  const auto sizes = Broadcast(call.module(), result->sizes, condition->sizes);
  if (!sizes) return std::nullopt;
  result->sizes = *sizes;
  return result;
}

Result Tested(const Call& call) {
  Result result = call.tensor(0);
  if (result) result->dtype = DType::kBool;
  return result;
}

Result Compared(const Call& call) {
  Result result = Binary(call);
  if (result) result->dtype = DType::kBool;
  return result;
}

Result Cast(const Call& call) {
  Result result = call.tensor(0);
  const Argument* dtype = call.node.kwarg("dtype");
  if (!result || dtype == nullptr || dtype->kind() != Argument::Kind::kDType) return std::nullopt;
  result->dtype = dtype->dtype();
  return result;
}

Result Full(const Call& call) {
  const Argument* dtype = call.node.kwarg("dtype");
  if (dtype == nullptr || dtype->kind() != Argument::Kind::kDType) return std::nullopt;
  TensorType type{dtype->dtype(), {}};
  if (call.node.target() == "pd_op.full_int_array") {
    type.sizes.emplace_back(call.list("value").size());
  } else {
    for (const int64_t size : call.list("shape")) type.sizes.emplace_back(size);
  }
  return type;
}

std::optional<Dim> Sum(Module* module, const Dim& a, const Dim& b) {
  int64_t sum = 0;
  if (a.is_static() && b.is_static()) {
    if (__builtin_add_overflow(a.value, b.value, &sum)) return std::nullopt;
    return Dim(sum);
  }
  if (b.is_static() && b.value == 0) return a;
  const auto expr = [&](const Dim& dim) {
    return dim.is_static() ? module->SymInt(dim.value) : dim.expr;
  };
  return Dim(module->SymBinary(SymExpr::Kind::kAdd, expr(a), expr(b)));
}

Result Matmul(const Call& call) {
  Result a = call.tensor(0);
  Result b = call.tensor(1);
  if (!a || !b || a->sizes.empty() || b->sizes.empty()) return std::nullopt;
  if (call.is_true("transpose_x") && a->sizes.size() > 1) {
    std::swap(a->sizes[a->sizes.size() - 1], a->sizes[a->sizes.size() - 2]);
  }
  if (call.is_true("transpose_y") && b->sizes.size() > 1) {
    std::swap(b->sizes[b->sizes.size() - 1], b->sizes[b->sizes.size() - 2]);
  }
  Sizes rows = a->sizes;
  rows.pop_back();
  Sizes columns = b->sizes;
  const size_t inner = columns.size() == 1 ? 0 : columns.size() - 2;
  columns.erase(columns.begin() + static_cast<std::ptrdiff_t>(inner));
  Sizes last;
  if (b->sizes.size() > 1) {
    last.push_back(columns.back());
    columns.pop_back();
  }
  Sizes row;
  if (a->sizes.size() > 1) {
    row.push_back(rows.back());
    rows.pop_back();
  }
  std::optional<Sizes> batch = Broadcast(call.module(), rows, columns);
  if (!batch) return std::nullopt;
  batch->insert(batch->end(), row.begin(), row.end());
  batch->insert(batch->end(), last.begin(), last.end());
  return TensorType{a->dtype, *batch};
}

Result Transpose(const Call& call) {
  const Result x = call.tensor(0);
  const std::vector<int64_t> perm = call.list("perm");
  if (!x || perm.size() != x->sizes.size()) return std::nullopt;
  TensorType type{x->dtype, {}};
  for (const int64_t axis : perm) {
    const int64_t at = At(axis, perm.size());
    if (at < 0 || at >= static_cast<int64_t>(perm.size())) return std::nullopt;
    type.sizes.push_back(x->sizes[static_cast<size_t>(at)]);
  }
  return type;
}

// Returns the product of sizes divided by `divisor`; nullopt if the product of the numbers among
// them is not a multiple of it.
std::optional<Dim> Product(Module* module, absl::Span<const Dim> sizes, int64_t divisor) {
  int64_t number = 1;
  const SymExpr* symbols = nullptr;
  for (const Dim& dim : sizes) {
    if (!dim.is_static()) {
      symbols =
          symbols == nullptr ? dim.expr : module->SymBinary(SymExpr::Kind::kMul, symbols, dim.expr);
    } else if (__builtin_mul_overflow(number, dim.value, &number)) {
      return std::nullopt;
    }
  }
  if (divisor <= 0 || number % divisor != 0) return std::nullopt;
  number /= divisor;
  if (symbols == nullptr) return Dim(number);
  if (number == 1) return Dim(symbols);
  return Dim(module->SymBinary(SymExpr::Kind::kMul, symbols, module->SymInt(number)));
}

Result Reshape(const Call& call) {
  const Result x = call.tensor(0);
  const auto shape = call.constant(1);
  if (!x || !shape) return std::nullopt;
  TensorType type{x->dtype, {}};
  int64_t known = 1;
  std::optional<size_t> open;
  for (const int64_t size : *shape) {
    if (size == -1) open = type.sizes.size();
    type.sizes.emplace_back(size);
    if (size != -1 && __builtin_mul_overflow(known, size, &known)) return std::nullopt;
  }
  if (!open) return type;
  const std::optional<Dim> rest = Product(call.module(), x->sizes, known);
  if (!rest) return std::nullopt;
  type.sizes[*open] = *rest;
  return type;
}

Result Flatten(const Call& call) {
  Result x = call.tensor(0);
  const auto first = call.integer("start_axis");
  const auto last = call.integer("stop_axis");
  if (!x || !first || !last || x->sizes.empty()) return std::nullopt;
  const int64_t begin = At(*first, x->sizes.size());
  const int64_t end = At(*last, x->sizes.size()) + 1;
  if (begin < 0 || begin >= end || end > static_cast<int64_t>(x->sizes.size())) {
    return std::nullopt;
  }
  const absl::Span<const Dim> joined = absl::MakeConstSpan(x->sizes).subspan(
      static_cast<size_t>(begin), static_cast<size_t>(end - begin));
  const std::optional<Dim> size = Product(call.module(), joined, 1);
  if (!size) return std::nullopt;
  x->sizes.erase(x->sizes.begin() + begin + 1, x->sizes.begin() + end);
  x->sizes[static_cast<size_t>(begin)] = *size;
  return x;
}

Result Unsqueeze(const Call& call) {
  Result x = call.tensor(0);
  const auto axes = call.constant(1);
  if (!x || !axes) return std::nullopt;
  for (const int64_t axis : *axes) {
    const int64_t at = At(axis, x->sizes.size() + 1);
    if (at < 0 || at > static_cast<int64_t>(x->sizes.size())) return std::nullopt;
    x->sizes.insert(x->sizes.begin() + at, Dim(1));
  }
  return x;
}

Result Squeeze(const Call& call) {
  Result x = call.tensor(0);
  const auto axes = call.constant(1);
  if (!x || !axes || axes->empty()) return std::nullopt;
  std::vector<int64_t> sorted;
  for (const int64_t axis : *axes) sorted.push_back(At(axis, x->sizes.size()));
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  for (const int64_t at : sorted) {
    if (at < 0 || at >= static_cast<int64_t>(x->sizes.size())) return std::nullopt;
    if (IsOne(x->sizes[static_cast<size_t>(at)])) x->sizes.erase(x->sizes.begin() + at);
  }
  return x;
}

// Returns the number of elements of a slice from `start` to `end`, as Python counts them.
std::optional<int64_t> Steps(int64_t start, int64_t end, int64_t step, const Dim& dim) {
  if (!dim.is_static() || step <= 0) return std::nullopt;
  const auto clip = [&](int64_t i) {
    return std::clamp<int64_t>(i < 0 ? i + dim.value : i, 0, dim.value);
  };
  return std::max<int64_t>(0, (clip(end) - clip(start) + step - 1) / step);
}

Result Slice(const Call& call) {
  Result x = call.tensor(0);
  const auto starts = call.constant(1);
  const auto ends = call.constant(2);
  const bool is_strided = call.node.target() == "pd_op.strided_slice";
  const auto strides = is_strided ? call.constant(3) : std::nullopt;
  const std::vector<int64_t> axes = call.list("axes");
  if (!x || !starts || !ends || starts->size() != axes.size() || ends->size() != axes.size() ||
      (is_strided && (!strides || strides->size() != axes.size()))) {
    return std::nullopt;
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0 || axes[i] >= static_cast<int64_t>(x->sizes.size())) return std::nullopt;
    Dim& dim = x->sizes[static_cast<size_t>(axes[i])];
    const auto steps = Steps((*starts)[i], (*ends)[i], is_strided ? (*strides)[i] : 1, dim);
    if (!steps) return std::nullopt;
    dim = *steps;
  }
  std::vector<int64_t> dropped = call.list("decrease_axis");
  std::sort(dropped.begin(), dropped.end(), std::greater<>());
  for (const int64_t axis : dropped) {
    if (axis < 0 || axis >= static_cast<int64_t>(x->sizes.size())) return std::nullopt;
    x->sizes.erase(x->sizes.begin() + axis);
  }
  return x;
}

Result Convolution(const Call& call) {
  const Result x = call.tensor(0);
  const Result w = call.tensor(1);
  const Argument* algorithm = call.node.kwarg("padding_algorithm");
  const std::vector<int64_t> strides = call.list("strides");
  const std::vector<int64_t> paddings = call.list("paddings");
  const std::vector<int64_t> dilations = call.list("dilations");
  const size_t rank = strides.size() + 2;
  if (!x || !w || x->sizes.size() != rank || w->sizes.size() != rank || algorithm == nullptr ||
      !algorithm->is_string() || algorithm->string() != "EXPLICIT" ||
      paddings.size() != strides.size() || dilations.size() != strides.size()) {
    return std::nullopt;
  }
  TensorType type{x->dtype, {x->sizes[0], w->sizes[0]}};
  for (size_t i = 2; i < rank; ++i) {
    if (!x->sizes[i].is_static() || !w->sizes[i].is_static() || strides[i - 2] <= 0) {
      return std::nullopt;
    }
    const int64_t window = dilations[i - 2] * (w->sizes[i].value - 1) + 1;
    const int64_t span = x->sizes[i].value + 2 * paddings[i - 2] - window;
    type.sizes.emplace_back(std::max<int64_t>(0, span / strides[i - 2] + 1));
  }
  return type;
}

// Reduces the dimension `axis`, which may be negative.
Result Norm(const Call& call) {
  Result x = call.tensor(0);
  const auto axis = call.integer("axis");
  if (!x || !axis) return std::nullopt;
  const int64_t at = At(*axis, x->sizes.size());
  if (at < 0 || at >= static_cast<int64_t>(x->sizes.size())) return std::nullopt;
  if (call.is_true("keepdim")) {
    x->sizes[static_cast<size_t>(at)] = 1;
  } else {
    x->sizes.erase(x->sizes.begin() + at);
  }
  return x;
}

Result Reduction(const Call& call) {
  Result x = call.tensor(0);
  auto axes = call.constant(1);
  if (call.node.kwarg("axis") != nullptr) axes = call.list("axis");
  if (!x || !axes) return std::nullopt;
  std::vector<bool> is_reduced(x->sizes.size(), axes->empty());
  for (const int64_t axis : *axes) {
    const int64_t at = At(axis, x->sizes.size());
    if (at < 0 || at >= static_cast<int64_t>(x->sizes.size())) return std::nullopt;
    is_reduced[static_cast<size_t>(at)] = true;
  }
  Sizes sizes;
  for (size_t i = 0; i < x->sizes.size(); ++i) {
    if (!is_reduced[i]) {
      sizes.push_back(x->sizes[i]);
    } else if (call.is_true("keepdim")) {
      sizes.emplace_back(1);
    }
  }
  x->sizes = sizes;
  const Argument* dtype = call.node.kwarg("dtype");
  if (dtype != nullptr && dtype->kind() == Argument::Kind::kDType) x->dtype = dtype->dtype();
  return x;
}

// Joins a vec along one of its dimensions.
Result Concat(const Call& call) {
  const ValueMeta* vec = call.meta(0);
  const auto axis = call.constant(1);
  if (vec == nullptr || !vec->is_tuple || vec->elements.empty() || !axis || axis->size() != 1) {
    return std::nullopt;
  }
  Result result;
  for (const ValueMeta* element : vec->elements) {
    const TensorMeta* part = element->tensor;
    if (part == nullptr || !part->has_shape) return std::nullopt;
    if (!result) {
      result = TensorType{part->dtype, Sizes(part->shape.begin(), part->shape.end())};
      continue;
    }
    const int64_t at = At((*axis)[0], result->sizes.size());
    if (part->shape.size() != result->sizes.size() || at < 0 ||
        at >= static_cast<int64_t>(part->shape.size())) {
      return std::nullopt;
    }
    Dim& size = result->sizes[static_cast<size_t>(at)];
    const std::optional<Dim> sum = Sum(call.module(), size, part->shape[static_cast<size_t>(at)]);
    if (!sum) return std::nullopt;
    size = *sum;
  }
  return result;
}

Result Expand(const Call& call) {
  Result x = call.tensor(0);
  const auto sizes = call.constant(1);
  if (!x || !sizes || sizes->size() < x->sizes.size()) return std::nullopt;
  const size_t more = sizes->size() - x->sizes.size();
  Sizes expanded;
  for (size_t i = 0; i < sizes->size(); ++i) {
    const int64_t size = (*sizes)[i];
    if (size < -1 || (size == -1 && i < more)) return std::nullopt;
    expanded.push_back(size == -1 ? x->sizes[i - more] : Dim(size));
  }
  x->sizes = expanded;
  return x;
}

// Pads a tensor of five dimensions. Paddings come in pairs, from the last dimension on.
Result Pad3d(const Call& call) {
  Result x = call.tensor(0);
  const auto pads = call.constant(1);
  const Argument* format = call.node.kwarg("data_format");
  if (!x || x->sizes.size() != 5 || !pads || pads->size() != 6 || format == nullptr ||
      !format->is_string() || format->string() != "NCDHW") {
    return std::nullopt;
  }
  for (size_t i = 0; i < 3; ++i) {
    Dim& size = x->sizes[4 - i];
    for (size_t side = 0; side < 2; ++side) {
      const std::optional<Dim> sum = Sum(call.module(), size, Dim((*pads)[2 * i + side]));
      if (!sum) return std::nullopt;
      size = *sum;
    }
  }
  return x;
}

Result OneHot(const Call& call) {
  Result x = call.tensor(0);
  const auto classes = call.constant(1);
  if (!x || !classes || classes->size() != 1) return std::nullopt;
  x->dtype = DType::kFloat32;
  x->sizes.emplace_back((*classes)[0]);
  return x;
}

}  // namespace

// Applies an equation such as "ij,jk->ik" to a vec. An ellipsis is not supported.
Result Einsum(const Call& call) {
  const ValueMeta* vec = call.meta(0);
  const Argument* equation = call.node.kwarg("equation");
  if (vec == nullptr || !vec->is_tuple || vec->elements.empty() || equation == nullptr ||
      !equation->is_string() || absl::StrContains(equation->string(), '.')) {
    return std::nullopt;
  }
  const std::pair<absl::string_view, absl::string_view> sides =
      absl::StrSplit(equation->string(), absl::MaxSplits("->", 1));
  if (!absl::StrContains(equation->string(), "->")) return std::nullopt;
  const std::vector<absl::string_view> terms = absl::StrSplit(sides.first, ',');
  if (terms.size() != vec->elements.size()) return std::nullopt;
  absl::flat_hash_map<char, Dim> sizes;
  for (size_t i = 0; i < terms.size(); ++i) {
    const TensorMeta* part = vec->elements[i]->tensor;
    size_t k = 0;
    for (const char c : terms[i]) {
      if (c == ' ') continue;
      if (part == nullptr || !part->has_shape || k >= part->shape.size()) return std::nullopt;
      const Dim& size = part->shape[k++];
      Dim& known = sizes.try_emplace(c, size).first->second;
      if (IsOne(known)) known = size;
    }
  }
  TensorType type{vec->elements[0]->tensor->dtype, {}};
  for (const char c : sides.second) {
    if (c == ' ') continue;
    const auto size = sizes.find(c);
    if (size == sizes.end()) return std::nullopt;
    type.sizes.push_back(size->second);
  }
  return type;
}

namespace {

using Rule = Result (*)(const Call&);

const absl::flat_hash_map<absl::string_view, Rule>& Rules() {
  static const auto* const kRules =
      new absl::flat_hash_map<absl::string_view, Rule>{{"abs", Same},
                                                       {"acos", Same},
                                                       {"acosh", Same},
                                                       {"add", Binary},
                                                       {"amax", Reduction},
                                                       {"amin", Reduction},
                                                       {"asin", Same},
                                                       {"asinh", Same},
                                                       {"assign", Same},
                                                       {"atan", Same},
                                                       {"atan2", Binary},
                                                       {"atanh", Same},
                                                       {"bitwise_and", Binary},
                                                       {"bitwise_not", Same},
                                                       {"bitwise_or", Binary},
                                                       {"bitwise_xor", Binary},
                                                       {"bmm", Matmul},
                                                       {"cast", Cast},
                                                       {"ceil", Same},
                                                       {"celu", Same},
                                                       {"clip", Same},
                                                       {"concat", Concat},
                                                       {"conv2d", Convolution},
                                                       {"conv3d", Convolution},
                                                       {"cos", Same},
                                                       {"cosh", Same},
                                                       {"divide", Binary},
                                                       {"elementwise_pow", Binary},
                                                       {"elu", Same},
                                                       {"equal", Compared},
                                                       {"erf", Same},
                                                       {"exp", Same},
                                                       {"expand", Expand},
                                                       {"expm1", Same},
                                                       {"flip", Same},
                                                       {"flatten", Flatten},
                                                       {"floor", Same},
                                                       {"floor_divide", Binary},
                                                       {"fmax", Binary},
                                                       {"fmin", Binary},
                                                       {"full", Full},
                                                       {"full_int_array", Full},
                                                       {"full_like", Cast},
                                                       {"gelu", Same},
                                                       {"greater_equal", Compared},
                                                       {"greater_than", Compared},
                                                       {"hardsigmoid", Same},
                                                       {"hardswish", Same},
                                                       {"hardtanh", Same},
                                                       {"isfinite", Tested},
                                                       {"isinf", Tested},
                                                       {"isnan", Tested},
                                                       {"leaky_relu", Same},
                                                       {"less_equal", Compared},
                                                       {"less_than", Compared},
                                                       {"log", Same},
                                                       {"log10", Same},
                                                       {"log1p", Same},
                                                       {"log2", Same},
                                                       {"log_softmax", Same},
                                                       {"logical_and", Compared},
                                                       {"logical_not", Tested},
                                                       {"logical_or", Compared},
                                                       {"logical_xor", Compared},
                                                       {"logsigmoid", Same},
                                                       {"masked_fill", Binary},
                                                       {"matmul", Matmul},
                                                       {"max", Reduction},
                                                       {"maximum", Binary},
                                                       {"mean", Reduction},
                                                       {"min", Reduction},
                                                       {"minimum", Binary},
                                                       {"mish", Same},
                                                       {"multiply", Binary},
                                                       {"not_equal", Compared},
                                                       {"one_hot", OneHot},
                                                       {"p_norm", Norm},
                                                       {"pad3d", Pad3d},
                                                       {"reciprocal", Same},
                                                       {"relu", Same},
                                                       {"relu6", Same},
                                                       {"remainder", Binary},
                                                       {"reshape", Reshape},
                                                       {"roll", Same},
                                                       {"round", Same},
                                                       {"rsqrt", Same},
                                                       {"scale", Same},
                                                       {"selu", Same},
                                                       {"sigmoid", Same},
                                                       {"sign", Same},
                                                       {"silu", Same},
                                                       {"sin", Same},
                                                       {"sinh", Same},
                                                       {"slice", Slice},
                                                       {"softmax", Same},
                                                       {"softplus", Same},
                                                       {"softsign", Same},
                                                       {"sqrt", Same},
                                                       {"square", Same},
                                                       {"squeeze", Squeeze},
                                                       {"strided_slice", Slice},
                                                       {"subtract", Binary},
                                                       {"sum", Reduction},
                                                       {"swish", Same},
                                                       {"tan", Same},
                                                       {"tanh", Same},
                                                       {"tanh_shrink", Same},
                                                       {"transpose", Transpose},
                                                       {"trunc", Same},
                                                       {"unsqueeze", Unsqueeze},
                                                       {"where", Where}};
  return *kRules;
}

}  // namespace

std::vector<const ValueMeta*> InferResults(const Node& node) {
  Module* module = node.graph()->module();
  const Call call{node};
  if (auto several = SeveralResults(call, module)) return *several;
  const Operator* op = FindOperator(node.target());
  std::vector<const ValueMeta*> metas(op == nullptr ? 1 : std::max<size_t>(1, op->results.size()));
  // An operator in place has the type of the one that is not in place.
  const absl::string_view name = absl::StripPrefix(node.target(), "pd_op.");
  const auto rule = Rules().find(absl::StripSuffix(name, "_"));
  if (op != nullptr && rule != Rules().end()) metas[0] = MetaOf(module, rule->second(call));
  return metas;
}

}  // namespace graphnet::pir
