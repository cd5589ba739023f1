#include "graphnet/paddle/pir/lower_helpers.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "graphnet/ir/module.h"
#include "graphnet/paddle/pir/lower_python.h"

namespace graphnet::pir {
namespace {

using Args = absl::Span<const Value>;
using Result = std::optional<Value>;

Result Of(const Argument& constant) { return Value::Constant(constant); }

const Argument* Constant(Args args, size_t i) {
  return i < args.size() && args[i].is_constant() ? &args[i].constant : nullptr;
}

std::optional<std::vector<int64_t>> IntegersOf(Args args, size_t i) {
  const Argument* value = Constant(args, i);
  return value == nullptr ? std::nullopt : Integers(*value);
}

std::optional<double> NumberOf(const Argument* value) {
  if (value == nullptr) return std::nullopt;
  if (value->is_int()) return static_cast<double>(value->integer());
  if (value->is_float()) return value->real();
  if (value->is_bool()) return static_cast<double>(value->boolean());
  return std::nullopt;
}

const TensorMeta* ShapedMeta(Args args, size_t i) {
  if (i >= args.size() || args[i].node == nullptr) return nullptr;
  const TensorMeta* meta = args[i].node->tensor_meta();
  return meta != nullptr && meta->has_shape ? meta : nullptr;
}

// Returns `count` numbers from one number or a list; the second argument replaces None.
Result Repeated(Emitter& out, Args args, size_t count) {
  const Argument* first = Constant(args, 0);
  const size_t at = first != nullptr && first->is_none() && args.size() > 1 ? 1 : 0;
  const auto numbers = IntegersOf(args, at);
  if (!numbers.has_value()) return std::nullopt;
  if (numbers->size() == count) return Of(out.List(*numbers));
  if (numbers->size() != 1) return std::nullopt;
  return Of(out.List(std::vector<int64_t>(count, (*numbers)[0])));
}

Result Pair(Emitter& out, Args args, const ValueMeta*) { return Repeated(out, args, 2); }
Result Triple(Emitter& out, Args args, const ValueMeta*) { return Repeated(out, args, 3); }

// Returns pairs of paddings; an empty list if there is no padding.
Result Pairs(Emitter& out, Args args, const ValueMeta*) {
  const auto numbers = IntegersOf(args, 0);
  if (!numbers.has_value()) return std::nullopt;
  if (absl::c_all_of(*numbers, [](int64_t n) { return n == 0; })) return Of(out.List({}));
  return Repeated(out, args, 2);
}

// Extends the size of a one-dimensional window to two dimensions.
Result Row(Emitter& out, Args args, const ValueMeta*) {
  const auto number = IntegersOf(args, 0);
  const auto first = IntegersOf(args, 1);
  if (!number.has_value() || number->size() != 1 || !first.has_value()) return std::nullopt;
  return Of(out.List({(*first)[0], (*number)[0]}));
}

Result Not(Emitter&, Args args, const ValueMeta*) {
  const Argument* value = Constant(args, 0);
  if (value == nullptr || !value->is_bool()) return std::nullopt;
  return Of(!value->boolean());
}

Result End(Emitter&, Args args, const ValueMeta*) {
  const auto sizes = IntegersOf(args, 1);
  const int rank = args[0].node == nullptr ? -1 : RankOf(args[0].node);
  if (!sizes.has_value() || rank < static_cast<int>(sizes->size())) return std::nullopt;
  return Of(rank - static_cast<int>(sizes->size()));
}

Result Float(Emitter&, Args args, const ValueMeta*) {
  const auto number = NumberOf(Constant(args, 0));
  if (!number.has_value()) return std::nullopt;
  return Of(*number);
}

Result OneOf(Emitter&, Args args, const ValueMeta*) {
  const auto numbers = IntegersOf(args, 0);
  if (!numbers.has_value() || numbers->size() != 1) return std::nullopt;
  return Of((*numbers)[0]);
}

Result ScalarOf(Emitter& out, Args args, const ValueMeta*) {
  if (args[0].node != nullptr) return args[0];
  const auto number = NumberOf(Constant(args, 0));
  const DType dtype = args[1].node == nullptr ? DType::kUnknown : DTypeOf(args[1].node);
  if (!number.has_value() || dtype == DType::kUnknown) return std::nullopt;
  return Value::Of(out.Scalar(*number, dtype));
}

Result Axes(Emitter& out, Args args, const ValueMeta*) {
  const Argument* value = Constant(args, 0);
  if (value != nullptr && value->is_none()) return Of(out.List({}));
  const auto numbers = IntegersOf(args, 0);
  if (!numbers.has_value()) return std::nullopt;
  return Of(out.List(*numbers));
}

// Returns a dimension of the first argument, counted from 0.
Result Axis(Emitter&, Args args, const ValueMeta*) {
  const auto axis = IntegersOf(args, 1);
  const int rank = args[0].node == nullptr ? -1 : RankOf(args[0].node);
  if (!axis.has_value() || rank < 0) return std::nullopt;
  return Of((*axis)[0] < 0 ? (*axis)[0] + rank : (*axis)[0]);
}

Result ListOf(Emitter& out, Args args, const ValueMeta*) {
  const auto numbers = IntegersOf(args, 0);
  if (!numbers.has_value()) return std::nullopt;
  return Of(out.List(*numbers));
}

Result Sizes(Emitter& out, Args args, const ValueMeta*) {
  const TensorMeta* meta = ShapedMeta(args, 0);
  if (meta == nullptr) return std::nullopt;
  std::vector<int64_t> sizes;
  for (const Dim& dim : meta->shape) sizes.push_back(dim.is_static() ? dim.value : -1);
  return Of(out.List(sizes));
}

Result Moved(Emitter& out, Args args, const ValueMeta*) {
  const int rank = args[0].node == nullptr ? -1 : RankOf(args[0].node);
  const auto from = IntegersOf(args, 1);
  const auto to = IntegersOf(args, 2);
  if (rank < 0 || !from.has_value() || !to.has_value() || from->size() != to->size()) {
    return std::nullopt;
  }
  std::vector<int64_t> perm(static_cast<size_t>(rank), -1);
  std::vector<bool> is_moved(static_cast<size_t>(rank), false);
  const auto at = [&](int64_t axis) { return axis < 0 ? axis + rank : axis; };
  for (size_t i = 0; i < from->size(); ++i) {
    const int64_t source = at((*from)[i]);
    const int64_t target = at((*to)[i]);
    if (source < 0 || source >= rank || target < 0 || target >= rank ||
        is_moved[static_cast<size_t>(source)] || perm[static_cast<size_t>(target)] >= 0) {
      return std::nullopt;
    }
    perm[static_cast<size_t>(target)] = source;
    is_moved[static_cast<size_t>(source)] = true;
  }
  int64_t next = 0;
  for (int64_t& axis : perm) {
    if (axis >= 0) continue;
    while (is_moved[static_cast<size_t>(next)]) ++next;
    axis = next++;
  }
  return Of(out.List(perm));
}

Result Swapped(Emitter& out, Args args, const ValueMeta*) {
  const int rank = args[0].node == nullptr ? -1 : RankOf(args[0].node);
  const auto first = IntegersOf(args, 1);
  const auto second = IntegersOf(args, 2);
  if (rank < 0 || !first.has_value() || !second.has_value()) return std::nullopt;
  const auto at = [&](int64_t axis) { return axis < 0 ? axis + rank : axis; };
  const int64_t a = at((*first)[0]);
  const int64_t b = at((*second)[0]);
  if (a < 0 || a >= rank || b < 0 || b >= rank) return std::nullopt;
  std::vector<int64_t> perm;
  for (int64_t i = 0; i < rank; ++i) perm.push_back(i == a ? b : i == b ? a : i);
  return Of(out.List(perm));
}

// Makes x[…, what, …] with the index `what` at a dimension.
Result Subscript(Emitter& out, Args args, const Argument& what, const ValueMeta* meta) {
  const int rank = args[0].node == nullptr ? -1 : RankOf(args[0].node);
  const auto dim = IntegersOf(args, 1);
  if (rank < 0 || !dim.has_value()) return std::nullopt;
  const int64_t at = (*dim)[0] < 0 ? (*dim)[0] + rank : (*dim)[0];
  if (at < 0 || at >= rank) return std::nullopt;
  const Argument none[3];
  std::vector<Argument> index(static_cast<size_t>(at), Argument::Slice(none));
  index.push_back(what);
  Node* made = LowerSubscript(out, args[0].node, Argument::Tuple(index), meta);
  return made == nullptr ? std::nullopt : Result(Value::Of(made));
}

Result Select(Emitter& out, Args args, const ValueMeta* meta) {
  const Argument* index = Constant(args, 2);
  if (index == nullptr || !index->is_int()) return std::nullopt;
  return Subscript(out, args, *index, meta);
}

Result Slice(Emitter& out, Args args, const ValueMeta* meta) {
  Argument bounds[3];
  for (size_t i = 0; i < 3; ++i) {
    const Argument* bound = Constant(args, i + 2);
    if (bound == nullptr) return std::nullopt;
    bounds[i] = *bound;
  }
  return Subscript(out, args, Argument::Slice(bounds), meta);
}

// Lowers torch.split, by the size of a piece or the sizes of all.
Result Split(Emitter& out, Args args, const ValueMeta*) {
  const TensorMeta* meta = ShapedMeta(args, 0);
  const auto axis = IntegersOf(args, 2);
  const Argument* sizes = Constant(args, 1);
  if (meta == nullptr || !axis.has_value() || sizes == nullptr) return std::nullopt;
  const auto rank = static_cast<int64_t>(meta->shape.size());
  const int64_t at = (*axis)[0] < 0 ? (*axis)[0] + rank : (*axis)[0];
  if (at < 0 || at >= rank || !meta->shape[static_cast<size_t>(at)].is_static()) {
    return std::nullopt;
  }
  const int64_t size = meta->shape[static_cast<size_t>(at)].value;
  std::vector<int64_t> sections;
  if (sizes->is_int()) {
    const int64_t part = sizes->integer();
    if (part <= 0 || size / part > 100000) return std::nullopt;
    if (size % part == 0 && size > 0) {
      Node* where = out.One(static_cast<double>(at), DType::kInt32);
      return Value::Of(out.Emit("split_with_num", {args[0].node, where}, {{"num", size / part}}));
    }
    for (int64_t start = 0; start < size; start += part) {
      sections.push_back(std::min(part, size - start));
    }
  } else if (const auto given = IntegersOf(args, 1)) {
    sections = *given;
  } else {
    return std::nullopt;
  }
  Node* lengths = out.IntArray(sections);
  Node* where = out.One(static_cast<double>(at), DType::kInt32);
  return Value::Of(out.Emit("split", {args[0].node, lengths, where}, {}));
}

// Pads up to three last dimensions, by way of a tensor of five dimensions.
Result Pad(Emitter& out, Args args, const ValueMeta* meta) {
  const auto pads = IntegersOf(args, 1);
  const auto number = NumberOf(Constant(args, 2));
  const int rank = args[0].node == nullptr ? -1 : RankOf(args[0].node);
  if (!pads.has_value() || rank < 1 || rank > 5 || pads->size() > 6 ||
      static_cast<int>(pads->size()) > 2 * rank || pads->size() % 2 != 0) {
    return std::nullopt;
  }
  std::vector<int64_t> axes;
  for (int i = rank; i < 5; ++i) axes.push_back(i - rank);
  Node* x = args[0].node;
  if (!axes.empty()) x = out.Emit("unsqueeze", {x, out.IntArray(axes)}, {});
  std::vector<int64_t> six = *pads;
  six.resize(6, 0);
  x = out.Emit("pad3d", {x, out.IntArray(six)},
               {{"data_format", "NCDHW"}, {"mode", "constant"}, {"pad_value", number.value_or(0)}},
               axes.empty() ? meta : nullptr);
  if (axes.empty()) return Value::Of(x);
  return Value::Of(out.Emit("squeeze", {x, out.IntArray(axes)}, {}, meta));
}

Result DTypeOr(Emitter&, Args args, const ValueMeta* meta) {
  const Argument* dtype = Constant(args, 0);
  if (dtype == nullptr) return std::nullopt;
  if (!dtype->is_none()) return args[0];
  if (meta != nullptr && meta->tensor != nullptr && meta->tensor->dtype != DType::kUnknown) {
    return Of(meta->tensor->dtype);
  }
  if (args.size() < 2) return Of(DType::kFloat32);
  if (args[1].node != nullptr) return Of(DTypeOf(args[1].node));
  const Argument* like = Constant(args, 1);
  if (like->is_bool()) return Of(DType::kBool);
  return Of(like->is_int() ? DType::kInt64 : DType::kFloat32);
}

// Casts small ints to the dtype in which PyTorch adds them up.
Result Long(Emitter& out, Args args, const ValueMeta*) {
  if (args[0].node == nullptr) return std::nullopt;
  const DType dtype = DTypeOf(args[0].node);
  if (dtype == DType::kUnknown) return std::nullopt;
  const bool is_small = dtype == DType::kBool || dtype == DType::kUInt8 || dtype == DType::kInt8 ||
                        dtype == DType::kInt16 || dtype == DType::kInt32;
  return is_small ? Value::Of(out.Cast(args[0].node, DType::kInt64)) : args[0];
}

// Reshapes to one dimension; None stays None.
Result Flat(Emitter& out, Args args, const ValueMeta*) {
  if (args[0].is_none()) return args[0];
  const int rank = args[0].node == nullptr ? -1 : RankOf(args[0].node);
  if (rank < 1) return std::nullopt;
  if (rank == 1) return args[0];
  return Value::Of(out.Emit("reshape", {args[0].node, out.IntArray({-1})}, {}));
}

Result Or(Emitter&, Args args, const ValueMeta*) { return args[args[0].is_none() ? 1 : 0]; }

Result AtIndex(Emitter&, Args args, const ValueMeta*) {
  if (args[0].is_none()) return Of(-1);
  const auto sizes = IntegersOf(args, 0);
  const auto index = IntegersOf(args, 1);
  if (!sizes.has_value() || sizes->size() > 2) return std::nullopt;
  const auto i = static_cast<size_t>((*index)[0]);
  return Of(sizes->size() == 1 ? (*sizes)[0] : (*sizes)[i]);
}

Result Scales(Emitter& out, Args args, const ValueMeta*) {
  if (args[0].is_none()) return Of(out.List({}));
  const Argument* value = Constant(args, 0);
  if (value == nullptr) return std::nullopt;
  if (value->is_list() || value->is_tuple()) {
    const bool are_numbers =
        value->elements().size() == 2 && absl::c_all_of(value->elements(), [](const Argument& a) {
          return a.is_float() || a.is_int();
        });
    return are_numbers ? Result(args[0]) : std::nullopt;
  }
  const auto number = NumberOf(value);
  if (!number.has_value() || *number != std::floor(*number)) return std::nullopt;
  return Of(out.List({static_cast<int64_t>(*number), static_cast<int64_t>(*number)}));
}

Result Prelu(Emitter&, Args args, const ValueMeta*) {
  const TensorMeta* meta = ShapedMeta(args, 0);
  if (meta == nullptr || meta->shape.size() != 1 || !meta->shape[0].is_static())
    return std::nullopt;
  return Of(meta->shape[0].value == 1 ? "all" : "channel");
}

Result Glu(Emitter& out, Args args, const ValueMeta* meta) {
  const Result axis = Axis(out, args, nullptr);
  if (!axis.has_value()) return std::nullopt;
  Node* where = out.One(static_cast<double>(axis->constant.integer()), DType::kInt32);
  Node* vec = out.Emit("split_with_num", {args[0].node, where}, {{"num", 2}});
  if (vec->meta() == nullptr) return std::nullopt;
  const std::vector<Node*> halves = out.Split(vec);
  Node* gate = out.Emit("sigmoid", {halves[1]}, {});
  return Value::Of(out.Emit("multiply", {halves[0], gate}, {}, meta));
}

// Returns the scale of attention.
Result Root(Emitter&, Args args, const ValueMeta*) {
  if (const auto given = NumberOf(Constant(args, 1))) return Of(*given);
  const TensorMeta* meta = ShapedMeta(args, 0);
  if (!args[1].is_none() || meta == nullptr || meta->shape.empty() ||
      !meta->shape.back().is_static() || meta->shape.back().value == 0) {
    return std::nullopt;
  }
  return Of(1 / std::sqrt(static_cast<double>(meta->shape.back().value)));
}

Result Floats(Emitter&, Args args, const ValueMeta*) {
  if (args[0].node == nullptr || !IsFloatingPoint(DTypeOf(args[0].node))) return std::nullopt;
  return args[0];
}

using Helper = Result (*)(Emitter&, Args, const ValueMeta*);

const absl::flat_hash_map<absl::string_view, Helper>& Helpers() {
  static const auto* const kHelpers = new absl::flat_hash_map<absl::string_view, Helper>{
      {"at", AtIndex},      {"axes", Axes},    {"axis", Axis},       {"dtype", DTypeOr},
      {"end", End},         {"float", Float},  {"floats", Floats},   {"flat", Flat},
      {"glu", Glu},         {"list", ListOf},  {"long", Long},       {"moved", Moved},
      {"not", Not},         {"number", Float}, {"one", OneOf},       {"or", Or},
      {"pad", Pad},         {"pair", Pair},    {"pairs", Pairs},     {"prelu", Prelu},
      {"root", Root},       {"row", Row},      {"scalar", ScalarOf}, {"scales", Scales},
      {"select", Select},   {"sizes", Sizes},  {"slice", Slice},     {"split", Split},
      {"swapped", Swapped}, {"triple", Triple}};
  return *kHelpers;
}

}  // namespace

std::optional<Value> CallHelper(Emitter& out, absl::string_view name, absl::Span<const Value> args,
                                const ValueMeta* meta) {
  const auto it = Helpers().find(name);
  return it == Helpers().end() ? std::nullopt : it->second(out, args, meta);
}

bool SameConstant(const Argument& a, const Argument& b) {
  const auto number = [](const Argument& v) -> std::optional<double> {
    if (v.is_int()) return static_cast<double>(v.integer());
    if (v.is_float()) return v.real();
    return std::nullopt;
  };
  const bool are_lists = (a.is_list() || a.is_tuple()) && (b.is_list() || b.is_tuple());
  if (are_lists) return absl::c_equal(a.elements(), b.elements(), SameConstant);
  const auto x = number(a);
  const auto y = number(b);
  return x.has_value() && y.has_value() ? *x == *y : a == b;
}

}  // namespace graphnet::pir
