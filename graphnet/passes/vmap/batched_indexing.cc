// Subscripts, and operators that take tensors of indices, on batched values.
#include <algorithm>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "graphnet/base/status.h"
#include "graphnet/passes/vmap/batched_calls.h"

namespace graphnet {
namespace {

Argument FullSlice() {
  static const Argument kNones[3];
  return Argument::Slice(kNones);
}

}  // namespace

absl::StatusOr<BatchedCalls::IndexShape> BatchedCalls::ShapeOf(const std::vector<Value>& indices) {
  IndexShape shape;
  for (size_t i = 0; i < indices.size(); ++i) {
    const Value& v = indices[i];
    if (!v.arg.is_node()) continue;
    if (v.rank() < 0 || v.facts.dtype == DType::kBool || v.facts.dtype == DType::kUnknown) {
      return NoRule("an index under vmap whose dimensions or dtype are not known, or of bool");
    }
    if (shape.first < 0) shape.first = static_cast<int>(i);
    shape.last = static_cast<int>(i);
    ++shape.number;
    shape.rank = std::max(shape.rank, v.rank());
    static_cast<Batch&>(shape) = shape | v;
  }
  return shape;
}

// Returns self[indices]; an index without a node takes a whole dimension.
BatchedCalls::Result BatchedCalls::Index(const Value& self, const std::vector<Value>& indices,
                                         const TensorFacts& facts) {
  const absl::string_view target = "aten.index.Tensor";
  ASSIGN_OR_RETURN(const IndexShape shape, ShapeOf(indices));
  const int rank = shape.rank;
  const Batch batch = self | shape;
  const int prefix = batch.prefix;
  if (!self.is_tensor() || self.rank() < 0)
    return NoRule("a tensor of unknown rank is indexed under vmap");
  const int at = shape.adjacent() ? shape.first : 0;  // the place of the indices' dimensions
  const auto align = [&](const Value& v) {
    return !v.arg.is_node() || v.prefix == 0 ? v.arg : Align(v, prefix, rank);
  };
  Arguments all;
  if (!self.batched()) {
    for (const Value& v : indices) all.push_back(align(v));
    Argument x = Emit(target, {self.arg, List(all)});
    if (at > 0 && prefix > 0) x = Move(x, at, 0, prefix);
    return Value{batch, x, facts};
  }
  if (!shape.batched()) {
    all.resize(static_cast<size_t>(self.prefix));
    for (const Value& v : indices) all.push_back(v.arg);
    Argument x = Emit(target, {self.arg, List(all)});
    if (!shape.adjacent()) x = Move(x, rank, 0, self.prefix);
    return Value{self, x, facts};
  }
  // Both are batched: index the tensor's own levels by their numbers.
  Argument x = self.arg;
  for (int i = self.prefix; i-- > 0;) {
    if (!self.Has(i)) x = Emit("aten.select.int", {x, i, 0});
  }
  const Argument device = Emit("builtins.getattr", {x, "device"});
  for (int i = 0; i < self.prefix; ++i) {
    if (!self.Has(i)) continue;
    const Argument numbers = Emit("torch.arange", {SizeOf(i)}, {{"device", device}});
    all.push_back(Insert(numbers, 1, prefix - i - 1 + rank));
  }
  for (const Value& v : indices) all.push_back(align(v));
  x = Emit(target, {x, List(all)});
  // The dimensions of the indices come first; move those before them in front again.
  if (at > 0) x = Move(x, prefix, prefix + at, rank);
  return Value{batch, x, facts};
}

BatchedCalls::Result BatchedCalls::IndexSelect(const Call& call, const Value& self) {
  const Value index = At(call, "index");
  const Argument dim = call["dim"];
  if (!dim.is_int() || self.rank() < 1 || index.rank() != 1) return RankUnknown(*call.node);
  const int64_t at = dim.integer() < 0 ? dim.integer() + self.rank() : dim.integer();
  std::vector<Value> values(static_cast<size_t>(at));
  values.push_back(index);
  return Index(self, values, facts_.Of(call.node));
}

BatchedCalls::Result BatchedCalls::IndexPut(Call call, const Value& self) {
  ASSIGN_OR_RETURN(const Put put, AlignPut(self, ValuesOf(call["indices"]), At(call, "values"),
                                           /*in_place=*/call.schema->mutates()));
  call.Set("self", put.self);
  call.Set("indices", List(put.indices));
  call.Set("values", put.values);
  return Yield(call, put);
}

// Indexes the levels by their numbers, so that the dimensions of the indices directly follow them.
absl::StatusOr<BatchedCalls::Put> BatchedCalls::AlignPut(const Value& self,
                                                         const std::vector<Value>& indices,
                                                         const Value& values, bool in_place) {
  ASSIGN_OR_RETURN(const IndexShape shape, ShapeOf(indices));
  Put put{self | values | shape, {}, {}, {}};
  const int rank = shape.rank, first = shape.first;
  const int result = self.rank() - shape.number + rank;
  if (!self.is_tensor() || self.rank() < 0 || shape.number == 0 ||
      (values.arg.is_node() && (!values.is_tensor() || values.rank() < 0))) {
    return NoRule("a tensor of unknown rank is written to under vmap");
  }
  if (values.is_tensor() && values.rank() > result)
    return NoRule("a tensor is written to with a tensor of more dimensions");
  if (in_place && !self.Covers(put)) return NoRule(kWritten);
  put.self = in_place ? Insert(self.arg, self.prefix, put.prefix - self.prefix)
                      : Materialize(self, put, self.rank());
  const Argument device = Emit("builtins.getattr", {put.self, "device"});
  for (int i = 0; i < put.prefix; ++i) {
    const Argument size = put.Has(i) ? SizeOf(i) : Argument(1);
    const Argument numbers = Emit("torch.arange", {size}, {{"device", device}});
    put.indices.push_back(Insert(numbers, 1, put.prefix - i - 1 + rank));
  }
  for (const Value& v : indices) put.indices.push_back(Align(v, put.prefix, rank));
  // If the indices are adjacent, the written value has their dimensions at that place.
  const bool moves = values.is_tensor() && shape.adjacent() && first > 0 && rank > 0;
  if (!moves) {
    put.values = Align(values, put.prefix, result);
  } else if (values.prefix > 0) {
    put.values = Move(Align(values, put.prefix, result), put.prefix + first, put.prefix, rank);
  } else {
    put.values = Move(Insert(values.arg, 0, result - values.rank()), first, 0, rank);
  }
  return put;
}

// Reads the subscripts of operator.getitem or setitem on a tensor.
absl::StatusOr<BatchedCalls::Subscripts> BatchedCalls::ReadSubscripts(const Node& node,
                                                                      const Value& self) {
  if (!self.is_tensor()) return NoRule("a value that is not a tensor is indexed under vmap");
  const Argument& index = node.args()[1];
  const absl::Span<const Argument> elements =
      index.is_tuple() ? index.elements() : absl::MakeConstSpan(&index, 1);
  Subscripts read;
  read.basic.assign(static_cast<size_t>(self.prefix), FullSlice());
  read.rank = self.rank();
  const auto taken = static_cast<int>(absl::c_count_if(elements, [](const Argument& a) {
    return !a.is_none() && a.kind() != Argument::Kind::kEllipsis;
  }));
  // Adds a basic subscript that changes the rank by `by`.
  const auto change_rank = [&](const Argument& basic, int by) {
    read.basic.push_back(basic);
    read.only_slices = false;
    read.rank += by;
  };
  for (const Argument& element : elements) {
    switch (element.kind()) {
      case Argument::Kind::kInt: change_rank(element, -1); break;
      case Argument::Kind::kNone:
        change_rank(element, 1);
        read.indices.emplace_back();
        break;
      case Argument::Kind::kEllipsis:
        if (self.rank() < 0) return RankUnknown(node);
        for (int i = 0; i < self.rank() - taken; ++i) {
          read.basic.push_back(FullSlice());
          read.indices.emplace_back();
        }
        break;
      case Argument::Kind::kSlice: {
        if (AnyBatched(element)) return NoRule("a slice by batched numbers");
        const Argument mapped = MapNodes(element, [&](Node* n) { return values_.at(n).arg; });
        read.only_slices =
            read.only_slices &&
            absl::c_all_of(mapped.elements(), [](const Argument& a) { return a.is_none(); });
        read.basic.push_back(mapped);
        read.indices.emplace_back();
        break;
      }
      case Argument::Kind::kNode: {
        const Value v = *ValueOf(element);
        if (v.facts.kind == TensorFacts::Kind::kOther) {
          change_rank(v.arg, -1);
        } else {
          read.basic.push_back(FullSlice());
          read.indices.push_back(v);
          read.any_tensor = true;
        }
        break;
      }
      default: return NoRule("a subscript of a kind without a batching rule");
    }
  }
  return read;
}

BatchedCalls::Result BatchedCalls::Subscript(const Node& node) {
  const Argument& whole = node.args()[0];
  const Argument& index = node.args()[1];
  if (!whole.is_node()) return NoRule("a structure of tensors is taken apart");
  if (const auto tuple = tuples_.find(whole.node()); tuple != tuples_.end()) {
    const auto size = static_cast<int64_t>(tuple->second.size());
    const int64_t at =
        index.is_int() ? (index.integer() < 0 ? index.integer() + size : index.integer()) : -1;
    if (at < 0 || at >= size)
      return NoRule("an element of vmap's results is taken by a number that is not constant");
    return tuple->second[static_cast<size_t>(at)];
  }
  const Value self = *ValueOf(whole);
  if (self.facts.kind == TensorFacts::Kind::kList) {
    if (!index.is_int()) return NoRule("a list of batched tensors is cut");
    return Value{self, Emit("operator.getitem", {self.arg, index}), facts_.Of(&node)};
  }
  ASSIGN_OR_RETURN(const Subscripts read, ReadSubscripts(node, self));
  Value view = self;
  if (!read.only_slices || !read.any_tensor) {
    view.arg = Emit("operator.getitem", {self.arg, Tuple(read.basic)});
    view.facts = facts_.Of(&node);
  }
  if (!read.any_tensor) return view;
  if (self.rank() < 0) return RankUnknown(node);
  view.facts.set_rank(read.rank);
  return Index(view, read.indices, facts_.Of(&node));
}

BatchedCalls::Result BatchedCalls::SetItem(const Node& node) {
  const std::optional<Value> self = ValueOf(node.args()[0]);
  const std::optional<Value> values = ValueOf(node.args()[2]);
  if (!self.has_value() || !values.has_value() || (values->batched() && !values->is_tensor()))
    return NoRule("a structure of tensors is written to");
  if (self->rank() < 0 || (values->is_tensor() && values->rank() < 0)) return RankUnknown(node);
  ASSIGN_OR_RETURN(Subscripts read, ReadSubscripts(node, *self));
  Value done;
  done.facts = TensorFacts::Other();
  if (read.any_tensor) {
    Value view = *self;
    if (!read.only_slices) view.arg = Emit("operator.getitem", {self->arg, Tuple(read.basic)});
    view.facts.set_rank(read.rank);
    ASSIGN_OR_RETURN(Put put, AlignPut(view, read.indices, *values, /*in_place=*/true));
    absl::c_replace_if(
        put.indices, [](const Argument& index) { return index.is_none(); }, FullSlice());
    Emit("operator.setitem", {put.self, Tuple(put.indices), put.values});
    return done;
  }
  if (!self->Covers(*values)) return NoRule(kWritten);
  if (values->is_tensor() && values->rank() > read.rank)
    return NoRule("a tensor is written to with a tensor of more dimensions");
  const int prefix = std::max(self->prefix, values->prefix);
  read.basic.insert(read.basic.begin(), static_cast<size_t>(prefix - self->prefix), FullSlice());
  Emit("operator.setitem", {Insert(self->arg, self->prefix, prefix - self->prefix),
                            Tuple(read.basic), Align(*values, prefix, read.rank)});
  return done;
}

}  // namespace graphnet
