#include "graphnet/passes/vmap/batched_calls.h"

#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/passes/vmap/batching_rules.h"

namespace graphnet {
namespace {

absl::Status NoRuleFor(absl::string_view target, absl::string_view with = {}) {
  return NoRule(absl::StrCat("no batching rule for ", target, with));
}
constexpr absl::string_view kWithOperands = " with these operands";

}  // namespace

absl::Status NoRule(absl::string_view why) { return absl::UnimplementedError(why); }

absl::Status RankUnknown(const Node& node) {
  return NoRule(
      absl::StrCat("the number of dimensions of an operand of ", node.target(), " is not known"));
}

// --- Emission ------------------------------------------------------------------

Node* BatchedCalls::Track(Node* node) {
  node->set_location(source_->location());
  node->set_module_path(source_->module_path());
  emitted_.push_back(node);
  return node;
}
Node* BatchedCalls::Emit(absl::string_view target, const Arguments& args,
                         const std::vector<KwArg>& kwargs) {
  return Track(graph_->CallFunction(target, args, kwargs, source_->name()));
}
Argument BatchedCalls::List(const Arguments& elements) {
  return Argument::List(arena_.Copy(absl::MakeConstSpan(elements)));
}
Argument BatchedCalls::Tuple(const Arguments& elements) {
  return Argument::Tuple(arena_.Copy(absl::MakeConstSpan(elements)));
}
Argument BatchedCalls::Insert(const Argument& x, int at, int count) {
  if (count <= 0) return x;
  if (count == 1) return Emit("aten.unsqueeze.default", {x, at});
  static const Argument kNones[3];
  Arguments index(static_cast<size_t>(at), Argument::Slice(kNones));
  index.resize(static_cast<size_t>(at) + static_cast<size_t>(count));  // None
  return Emit("operator.getitem", {x, Tuple(index)});
}
Argument BatchedCalls::Move(const Argument& x, int from, int to, int count) {
  if (count == 0 || from == to) return x;
  if (count == 1) return Emit("aten.movedim.int", {x, from, to});
  Arguments source, destination;
  for (int i = 0; i < count; ++i) {
    source.push_back(from + i);
    destination.push_back(to + i);
  }
  return Emit("aten.movedim.intlist", {x, List(source), List(destination)});
}
Argument BatchedCalls::Flatten(const Argument& x, int first, int last) {
  return first >= last ? x : Emit("aten.flatten.using_ints", {x, first, last});
}
Argument BatchedCalls::First(const Argument& x, int count) {
  return Emit("operator.getitem", {x, Tuple(Arguments(static_cast<size_t>(count), Argument(0)))});
}
Argument BatchedCalls::SizeOf(int level) {
  BatchLevel& info = levels_[static_cast<size_t>(level)];
  if (info.size.is_none()) {
    info.size = Track(graph_->CallMethod("size", {info.source, info.dim}, {}, "size"));
  }
  return info.size;
}
BatchedCalls::Arguments BatchedCalls::SizesOf(const Batch& batch, absl::Span<const Argument> own) {
  Arguments sizes;
  for (int i = 0; i < batch.prefix; ++i) {
    sizes.push_back(batch.Has(i) ? SizeOf(i) : Argument(1));
  }
  sizes.insert(sizes.end(), own.begin(), own.end());
  return sizes;
}
Argument BatchedCalls::Align(const Value& v, int prefix, int rank) {
  if (!v.is_tensor() || v.prefix == 0) return v.arg;
  return Insert(v.arg, v.prefix, prefix - v.prefix + rank - v.rank());
}
Argument BatchedCalls::Materialize(const Value& v, const Batch& batch, int rank) {
  const Argument x = Insert(v.arg, v.prefix, batch.prefix - v.prefix + rank - v.rank());
  if (v.Covers(batch)) return x;
  Arguments sizes;
  for (int i = 0; i < batch.prefix; ++i) {
    sizes.push_back(batch.Has(i) && !v.Has(i) ? SizeOf(i) : Argument(-1));
  }
  sizes.resize(sizes.size() + static_cast<size_t>(rank), Argument(-1));
  return Emit("aten.expand.default", {x, List(sizes)});
}

// --- Values and calls ----------------------------------------------------------

std::optional<BatchedValue> BatchedCalls::ValueOf(const Argument& argument) const {
  if (!argument.is_node()) return Value{{}, argument, TensorFacts::Other()};
  const auto it = values_.find(argument.node());
  return it == values_.end() ? std::nullopt : std::optional<Value>(it->second);
}
std::vector<BatchedValue> BatchedCalls::ValuesOf(const Argument& list) const {
  std::vector<Value> values;
  for (const Argument& element : list.elements()) values.push_back(*ValueOf(element));
  return values;
}
BatchedValue BatchedCalls::At(const Call& call, absl::string_view name) const {
  return ValueOf(call[name]).value_or(Value());
}
bool BatchedCalls::AnyBatched(const Argument& argument) const {
  bool batched = false;
  ForEachArgument(argument, [&](const Argument& a) {
    if (!a.is_node()) return;
    const auto it = values_.find(a.node());
    batched |= it == values_.end() ? tuples_.contains(a.node()) : it->second.batched();
  });
  return batched;
}

void BatchedCalls::Call::Set(absl::string_view name, const Argument& value) {
  const int i = schema->IndexOf(name);
  if (i >= 0 && static_cast<size_t>(i) < args.size()) {
    args[static_cast<size_t>(i)] = value;
    return;
  }
  const auto it = absl::c_find_if(kwargs, [&](const KwArg& kwarg) { return kwarg.name == name; });
  if (it == kwargs.end()) {
    kwargs.push_back({name, value});
  } else {
    it->value = value;
  }
}
absl::StatusOr<BatchedCalls::Call> BatchedCalls::Begin(const Node& node, const Schema& schema) {
  Call call{&node, &schema, {}, {}};
  bool known = true;
  const auto map = [&](const Argument& a) {
    return MapNodes(a, [&](Node* n) {
      const auto it = values_.find(n);
      known = known && it != values_.end();
      return it == values_.end() ? Argument() : it->second.arg;
    });
  };
  for (const Argument& a : node.args()) call.args.push_back(map(a));
  for (const KwArg& k : node.kwargs()) call.kwargs.push_back({k.name, map(k.value)});
  if (!known) return NoRule(absl::StrCat(node.target(), " uses a structure of tensors"));
  return call;
}
BatchedValue BatchedCalls::Yield(const Call& call, const Batch& batch) {
  return {batch, Emit(call.schema->target, call.args, call.kwargs), facts_.Of(call.node)};
}

// --- Rules ---------------------------------------------------------------------

BatchedCalls::Result BatchedCalls::Draw(const Node& node, const Schema& schema,
                                        uint64_t different) {
  ASSIGN_OR_RETURN(Call call, Begin(node, schema));
  const Argument given = call["size"];
  if (!given.is_sequence()) return NoRule("random numbers of an unknown size");
  const Argument own = MapNodes(given, [&](Node* n) { return values_.at(n).arg; });
  Batch batch{0, different};
  while (different >> batch.prefix != 0) ++batch.prefix;
  call.Set("size", List(SizesOf(batch, own.elements())));
  return Yield(call, batch);
}
bool BatchedCalls::DropsNothing(const Node& node, const Schema& schema) {
  if (schema.FindArgument("dropout_p") == nullptr) return false;
  const Argument p = ArgumentOf(node, schema, "dropout_p");
  return p.is_none() || (p.is_float() && p.real() == 0) || (p.is_int() && p.integer() == 0);
}

BatchedCalls::Result BatchedCalls::Apply(const Node& node) {
  if (node.target() == "operator.getitem") return Subscript(node);
  if (node.target() == "operator.setitem") return SetItem(node);
  if (node.target() == "builtins.getattr") return Attribute(node);
  const Schema* schema = FindOverload(node.target());
  const auto no_rule = [&] { return NoRuleFor(node.target()); };
  if (schema == nullptr) return no_rule();
  const BatchingRule rule = BatchingRuleOf(*schema);
  // Such a call draws in the order of the batched tensor's memory.
  if (schema->is_random && !DropsNothing(node, *schema)) {
    return NoRule("random numbers are drawn for a batched tensor");
  }
  if (rule == BatchingRule::kNone || schema->arguments.empty()) return no_rule();
  ASSIGN_OR_RETURN(Call call, Begin(node, *schema));
  const Value self = At(call, schema->arguments[0].name);
  switch (rule) {
    case BatchingRule::kNone:
    case BatchingRule::kRandom: return no_rule();  // takes no tensor
    case BatchingRule::kPointwise: return Pointwise(std::move(call));
    case BatchingRule::kLike:
      if (!self.batched()) return Yield(call, {});
      return Yield(call, self);
    case BatchingRule::kExpand: return Expand(std::move(call), self);
    case BatchingRule::kJoin: return Join(std::move(call));
    case BatchingRule::kAlong: return Along(std::move(call));
    case BatchingRule::kIndex:
      if (!call["indices"].is_list()) return no_rule();
      return Index(self, ValuesOf(call["indices"]), facts_.Of(&node));
    case BatchingRule::kIndexSelect: return IndexSelect(call, self);
    case BatchingRule::kEmbedding: {
      const Value indices = At(call, "indices");
      if (!self.batched()) return Yield(call, indices);
      return Index(self, {indices}, facts_.Of(&node));
    }
    case BatchingRule::kIndexPut:
      if (!call["indices"].is_sequence()) return no_rule();
      return IndexPut(std::move(call), self);
    case BatchingRule::kMatmul:
      if (call.args.size() != 2) return no_rule();
      return Matmul(self, *ValueOf(node.args()[1]), facts_.Of(&node));
    case BatchingRule::kLinear: return Linear(call, self);
    case BatchingRule::kAddMatmul: return AddMatmul(call, self);
    case BatchingRule::kOuter: return Outer(call, self);
    case BatchingRule::kAttention: return Attention(std::move(call));
    case BatchingRule::kEinsum: return Einsum(std::move(call));
    case BatchingRule::kConvolution: return Convolution(std::move(call), self);
    case BatchingRule::kSize: {
      const Argument dim = call["dim"];
      if (!dim.is_int()) return no_rule();
      call.Set("dim", dim.integer() < 0 ? dim.integer() : dim.integer() + self.prefix);
      return Yield(call, {});
    }
    default: break;
  }
  // The other rules handle their first tensor only.
  bool only_first = self.batched();
  for (size_t i = 1; i < schema->arguments.size(); ++i) {
    only_first = only_first && !AnyBatched(call[schema->arguments[i].name]);
  }
  if (!only_first) return NoRuleFor(node.target(), kWithOperands);
  switch (rule) {
    case BatchingRule::kTrailing: {
      const Argument mode = call["mode"];
      if (mode.is_string() && mode.string() != "constant") return no_rule();
      return Yield(call, self);
    }
    case BatchingRule::kNew: return Yield(call, {});
    case BatchingRule::kDims: return Dims(std::move(call), self);
    case BatchingRule::kWhole: return Whole(call, self);
    case BatchingRule::kView: return View(std::move(call), self);
    case BatchingRule::kRepeat: return Repeat(std::move(call), self);
    case BatchingRule::kPermute: return Permute(std::move(call), self);
    case BatchingRule::kSqueeze: return SqueezeAll(call, self);
    case BatchingRule::kTranspose: return Transpose(call, self);
    case BatchingRule::kImages: return Pooling(std::move(call), self);
    default: return no_rule();
  }
}

BatchedCalls::Result BatchedCalls::Attribute(const Node& node) {
  const Value self = *ValueOf(node.args()[0]);
  const absl::string_view name = node.args()[1].string();
  Value made;
  made.facts = TensorFacts::Other();
  if (name == "ndim") {
    if (self.rank() < 0) return RankUnknown(node);
    made.arg = self.rank();
    return made;
  }
  if (name != "dtype" && name != "device" && name != "layout" && name != "is_cuda" &&
      name != "requires_grad" && name != "shape") {
    return NoRuleFor("the attribute ", name);
  }
  made.arg = Emit("builtins.getattr", {self.arg, name});
  if (name == "shape") {
    const Argument from[] = {self.prefix, Argument(), Argument()};
    made.arg = Emit("operator.getitem", {made.arg, Argument::Slice(from)});
  }
  return made;
}

// Promotes as PyTorch does: a tensor without dimensions does not raise the dtype of one that has
// some. Batch dimensions would hide that.
absl::Status BatchedCalls::Promote(std::vector<Value>* values) {
  for (Value& scalar : *values) {
    if (!scalar.batched() || scalar.rank() != 0) continue;
    const Value* other = nullptr;
    for (const Value& v : *values) {
      if (!v.is_tensor() || &v == &scalar || (v.batched() && v.rank() == 0)) continue;
      if (v.facts.dtype != DType::kUnknown && v.facts.dtype == scalar.facts.dtype) continue;
      if (other != nullptr) return NoRule("tensors of several dtypes under vmap");
      other = &v;
    }
    if (other == nullptr) continue;
    const Argument element = First(scalar.arg, scalar.prefix);
    const Argument dtype = Emit("torch.result_type", {element, other->arg});
    scalar.arg = Track(graph_->CallMethod("to", {scalar.arg, dtype}, {}, source_->name()));
    scalar.facts.dtype = DType::kUnknown;
  }
  return absl::OkStatus();
}

BatchedCalls::Result BatchedCalls::Pointwise(Call call) {
  const bool in_place = call.schema->mutates();
  std::vector<Value> tensors;
  std::vector<absl::string_view> names;
  tensors.reserve(call.schema->arguments.size());
  names.reserve(call.schema->arguments.size());
  for (const SchemaArgument& argument : call.schema->arguments) {
    if (argument.type.kind != SchemaType::Kind::kTensor) {
      if (AnyBatched(call[argument.name])) return NoRuleFor(call.schema->target, kWithOperands);
      continue;
    }
    Value v = At(call, argument.name);
    if (!v.arg.is_node() || v.facts.kind == TensorFacts::Kind::kOther) continue;
    tensors.push_back(std::move(v));
    names.push_back(argument.name);
  }
  Batch batch;
  int rank = 0;
  for (const Value& v : tensors) {
    if (tensors.size() > 1 && (v.rank() < 0 || !v.is_tensor())) return RankUnknown(*call.node);
    batch = batch | v;
    rank = std::max(rank, v.rank());
  }
  if (in_place && (tensors.empty() || !tensors[0].Covers(batch))) return NoRule(kWritten);
  if (tensors.size() > 1) {
    if (!in_place && call.op() != "masked_fill") {
      const auto begin = tensors.begin() + (call.op() == "where" ? 1 : 0);
      std::vector<Value> promoted(std::make_move_iterator(begin),
                                  std::make_move_iterator(tensors.end()));
      RETURN_IF_ERROR(Promote(&promoted));
      absl::c_move(promoted, begin);
    }
    for (size_t i = 0; i < tensors.size(); ++i) {
      call.Set(names[i],
               i == 0 && in_place ? tensors[0].arg : Align(tensors[i], batch.prefix, rank));
    }
  }
  return Yield(call, batch);
}

BatchedCalls::Result BatchedCalls::Binary(absl::string_view target, const Value& a, const Value& b,
                                          const TensorFacts& facts) {
  const Batch batch = a | b;
  const int rank = std::max(a.rank(), b.rank());
  return Value{batch, Emit(target, {Align(a, batch.prefix, rank), Align(b, batch.prefix, rank)}),
               TensorFacts::Tensor(rank, facts.dtype)};
}

BatchedCalls::Result BatchedCalls::View(Call call, const Value& self) {
  const absl::string_view name = call.schema->FindArgument("size") != nullptr ? "size" : "shape";
  if (call.args.size() < 2 || !call.args[1].is_sequence()) return NoRuleFor(call.node->target());
  call.Set(name, List(SizesOf(self, call.args[1].elements())));
  return Yield(call, self);
}

BatchedCalls::Result BatchedCalls::Repeat(Call call, const Value& self) {
  const Argument repeats = call.args[1];
  if (self.rank() < 0) return RankUnknown(*call.node);
  if (!repeats.is_list()) return NoRuleFor(call.node->target());
  Arguments all(static_cast<size_t>(self.prefix), Argument(1));
  all.insert(all.end(), repeats.elements().begin(), repeats.elements().end());
  const auto count = static_cast<int>(repeats.elements().size());
  call.args = {Insert(self.arg, self.prefix, count - self.rank()), List(all)};
  return Yield(call, self);
}

BatchedCalls::Result BatchedCalls::Permute(Call call, const Value& self) {
  if (self.rank() < 0) return RankUnknown(*call.node);
  Arguments dims;
  for (int i = 0; i < self.prefix; ++i) dims.push_back(i);
  for (const Argument& dim : call.args[1].elements()) {
    if (!dim.is_int()) return NoRuleFor(call.node->target());
    dims.push_back(dim.integer() + self.prefix + (dim.integer() < 0 ? self.rank() : 0));
  }
  call.args = {self.arg, List(dims)};
  return Yield(call, self);
}

BatchedCalls::Result BatchedCalls::SqueezeAll(const Call& call, const Value& self) {
  if (self.rank() < 0) return RankUnknown(*call.node);
  Arguments dims;
  for (int i = 0; i < self.rank(); ++i) dims.push_back(self.prefix + i);
  Value made{self, self.arg, facts_.Of(call.node)};
  if (!dims.empty()) made.arg = Emit("aten.squeeze.dims", {self.arg, List(dims)});
  return made;
}

BatchedCalls::Result BatchedCalls::Transpose(const Call& call, const Value& self) {
  if (self.rank() < 0) return RankUnknown(*call.node);
  Arguments dims;
  for (int i = 0; i < self.prefix; ++i) dims.push_back(i);
  for (int i = self.rank(); i-- > 0;) dims.push_back(self.prefix + i);
  Value made{self, self.arg, facts_.Of(call.node)};
  if (self.rank() > 1) made.arg = Emit("aten.permute.default", {self.arg, List(dims)});
  return made;
}

BatchedCalls::Result BatchedCalls::Dims(Call call, const Value& self) {
  const Schema& schema = *call.schema;
  const absl::string_view op = call.op();
  if (self.rank() < 0 || !self.is_tensor()) return RankUnknown(*call.node);
  const auto no_rule = [&] { return NoRuleFor(schema.target, " with these arguments"); };
  const int k = self.prefix;
  const bool is_scalar = self.rank() == 0 && op != "unsqueeze";
  Argument x = is_scalar ? Insert(self.arg, k, 1) : self.arg;
  const int rank = is_scalar ? 1 : self.rank();
  const int base = op == "unsqueeze" ? rank + 1 : rank;
  const Argument keepdim = call["keepdim"];
  const bool keeps = keepdim.is_bool() && keepdim.boolean();
  const auto count = [&](const Argument& dim) {
    return Argument(dim.integer() + k + (dim.integer() < 0 ? base : 0));
  };
  for (const SchemaArgument& argument : schema.arguments) {
    static const auto* const names = new absl::flat_hash_set<absl::string_view>{
        "dim",   "dims",   "dim0",        "dim1",      "dim2",   "axis0",
        "axis1", "source", "destination", "start_dim", "end_dim"};
    if (!names->contains(argument.name)) continue;
    const Argument dim = call[argument.name];
    const bool is_list = dim.is_sequence();
    Arguments dims;
    if (dim.is_int()) {
      call.Set(argument.name, argument.type.is_list ? List({count(dim)}) : count(dim));
    } else if (is_list && !dim.elements().empty()) {
      for (const Argument& d : dim.elements()) {
        if (!d.is_int()) return no_rule();
        dims.push_back(count(d));
      }
      call.Set(argument.name, List(dims));
    } else if (!dim.is_none() && !is_list) {
      return no_rule();
    } else if (op == "roll" || op == "flip" || op == "squeeze" || op == "movedim" ||
               op == "moveaxis") {
      return no_rule();
    } else if (argument.type.is_list) {
      for (int i = 0; i < rank; ++i) dims.push_back(k + i);
      call.Set(argument.name, List(dims));
    } else {  // all elements
      if (keeps) return no_rule();
      if (rank > 1) x = Emit("aten.flatten.using_ints", {x, k, -1});
      call.Set(argument.name, k);
    }
  }
  call.Set(schema.arguments[0].name, x);
  Value made = Yield(call, self);
  const bool reduces = schema.FindArgument("keepdim") != nullptr || op == "count_nonzero";
  if (is_scalar && (keeps || !reduces) && made.facts.rank() != 1) {
    if (made.facts.kind != TensorFacts::Kind::kTensor) return no_rule();
    made.arg = Emit("aten.select.int", {made.arg, k, 0});
    made.facts.set_rank(0);
  }
  return made;
}

BatchedCalls::Result BatchedCalls::Whole(const Call& call, const Value& self) {
  if (self.rank() < 0) return RankUnknown(*call.node);
  const absl::string_view op = call.op();
  const WholeReduction whole = WholeReductionOf(op);
  const int k = self.prefix;
  Argument x = self.rank() == 0 ? Insert(self.arg, k, 1) : self.arg;
  Arguments dims;
  for (int i = 0; i < std::max(1, self.rank()); ++i) dims.push_back(k + i);
  if (whole.flatten && self.rank() > 1) x = Emit("aten.flatten.using_ints", {x, k, -1});
  const Argument along = whole.flatten ? Argument(k) : List(dims);
  Arguments args = {x};
  if (op == "norm") args.push_back(call["p"].is_none() ? Argument(2) : call["p"]);
  args.push_back(along);
  if (op == "std" || op == "var") args.push_back(call["unbiased"]);
  std::vector<KwArg> kwargs;
  if (const Argument dtype = call["dtype"]; !dtype.is_none()) {
    kwargs.push_back({"dtype", ValueOf(dtype)->arg});
  }
  return Value{self, Emit(whole.target, args, kwargs), facts_.Of(call.node)};
}

BatchedCalls::Result BatchedCalls::Expand(Call call, const Value& self) {
  if (self.rank() < 0) return RankUnknown(*call.node);
  if (call.op() == "expand_as") {
    const Value other = *ValueOf(call.node->args()[1]);
    if (other.rank() < 0) return RankUnknown(*call.node);
    const Batch batch = self | other;
    call.args = {Materialize(self, batch, other.rank()), Materialize(other, batch, other.rank())};
    return Yield(call, batch);
  }
  const Argument sizes = call.args.size() > 1 ? call.args[1] : Argument();
  if (!sizes.is_list() || !self.batched()) return NoRuleFor(call.schema->target, kWithOperands);
  Arguments all(static_cast<size_t>(self.prefix), Argument(-1));
  all.insert(all.end(), sizes.elements().begin(), sizes.elements().end());
  const int added = static_cast<int>(sizes.elements().size()) - self.rank();
  call.args = {Insert(self.arg, self.prefix, added), List(all)};
  return Yield(call, self);
}

BatchedCalls::Result BatchedCalls::Join(Call call) {
  const Argument list = call.node->args()[0];
  if (!list.is_sequence()) {
    return NoRuleFor(call.schema->target, " of a list that is not written out");
  }
  const std::vector<Value> tensors = ValuesOf(list);
  Batch batch;
  int rank = -1;
  for (const Value& v : tensors) {
    if (!v.is_tensor() || v.rank() < 0) return RankUnknown(*call.node);
    if (rank >= 0 && rank != v.rank()) return NoRule("tensors of different ranks are joined");
    rank = v.rank();
    batch = batch | v;
  }
  Arguments all;
  for (const Value& v : tensors) all.push_back(Materialize(v, batch, rank));
  const Argument dim = call["dim"];
  if (!dim.is_int()) return NoRule("a dimension that is not written out");
  const int base = call.op() == "stack" ? rank + 1 : rank;
  call.Set("tensors", List(all));
  call.Set("dim", dim.integer() + batch.prefix + (dim.integer() < 0 ? base : 0));
  return Yield(call, batch);
}

BatchedCalls::Result BatchedCalls::Along(Call call) {
  std::vector<std::pair<absl::string_view, Value>> tensors;
  Batch batch;
  for (const absl::string_view name : {"self", "index", "src"}) {
    const Value v = At(call, name);
    if (!v.arg.is_node()) continue;
    if (!v.is_tensor() || v.rank() < 1) return RankUnknown(*call.node);
    batch = batch | v;
    tensors.emplace_back(name, v);
  }
  const Argument dim = call["dim"];
  if (!dim.is_int()) return NoRule("a dimension that is not written out");
  call.Set("dim",
           dim.integer() + batch.prefix + (dim.integer() < 0 ? tensors[0].second.rank() : 0));
  for (const auto& [name, v] : tensors) call.Set(name, Materialize(v, batch, v.rank()));
  return Yield(call, batch);
}

}  // namespace graphnet
