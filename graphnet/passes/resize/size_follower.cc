// Follows nodes, numbers and subscripts.
#include "graphnet/passes/resize/size_follower.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/shapes/infer_meta.h"
#include "graphnet/facts/shapes/operator_name.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/node_error.h"
#include "graphnet/ir/shared_walk.h"
#include "graphnet/ir/verifier.h"

namespace graphnet {
namespace {

constexpr int kMaxRounds = 64;
// The most elements that all lists, and all tuples of results, may have when they are written out.
constexpr uint64_t kMaxListed = uint64_t{1} << 20;

// Sizes are copied for each element of a list or tuple, and these are shared. So what a graph may
// have of them is charged before any is followed.
absl::Status CheckListed(const Graph& graph) {
  Expansions<AggregateKey> lists;
  Expansions<const ValueMeta*> tuples;
  const auto parts = [](const ValueMeta* meta, auto&& add) -> uint64_t {
    for (const ValueMeta* element : meta->elements)
      if (element != nullptr) add(element);
    return meta->elements.size();
  };
  Budget budget(kMaxListed);
  for (const Node* node : graph.nodes()) {
    bool fits = true;
    const auto charge = [&](const std::optional<Expansion>& all) {
      fits = fits && all.has_value() && budget.Charge(all->size);
    };
    const auto charge_list = [&](const Argument& argument) {
      if (argument.is_aggregate()) charge(lists.Of(AggregateKey(argument), ElementParts()));
    };
    for (const Argument& argument : node->args()) charge_list(argument);
    for (const KwArg& kwarg : node->kwargs()) charge_list(kwarg.value);
    if (node->meta() != nullptr) charge(tuples.Of(node->meta(), parts));
    if (fits) continue;
    return absl::ResourceExhaustedError(
        NodeError(*node, "lists and tuples have more than 2^20 elements up to here").message());
  }
  return absl::OkStatus();
}

}  // namespace

SizesOfInputs SymbolicInputs(Module* module, absl::Span<const std::vector<int64_t>> points,
                             std::vector<bool>* holds) {
  std::vector<std::pair<std::string, int64_t>> recorded;
  for (const Symbol& symbol : module->symbols()) {
    if (symbol.example.value_or(0) > 0) recorded.emplace_back(symbol.name, *symbol.example);
  }
  if (holds != nullptr) holds->assign(points.size(), true);
  absl::flat_hash_map<const Node*, std::vector<std::vector<int64_t>>> at;
  for (size_t p = 0; p < points.size(); ++p) {
    for (size_t i = 0; i < recorded.size(); ++i) module->AddSymbol(recorded[i].first, points[p][i]);
    for (const SymExpr* relation : module->relations()) {
      if (holds == nullptr) break;
      if (EvaluateWithExamples(*module, *relation).value_or(0) == 0) (*holds)[p] = false;
    }
    for (const Node* node : module->main()->placeholders()) {
      const TensorMeta* meta = node->tensor_meta();
      if (NumberDType(node->annotation()).has_value()) {
        const Symbol* symbol = module->FindSymbol(node->target());
        if (symbol != nullptr) at[node].push_back({symbol->example.value_or(0)});
        continue;
      }
      if (meta == nullptr || !meta->has_shape || meta->is_static()) continue;
      std::vector<int64_t> dims;
      for (const Dim& dim : meta->shape) {
        const auto size = dim.is_static() ? dim.value : EvaluateWithExamples(*module, *dim.expr);
        dims.push_back(size.value_or(0));
      }
      at[node].push_back(std::move(dims));
    }
  }
  for (const auto& [name, example] : recorded) module->AddSymbol(name, example);
  SizesOfInputs sizes;
  for (const auto& [node, by_point] : at) {
    for (size_t i = 0; i < by_point[0].size(); ++i) {
      std::vector<int64_t> values;
      values.reserve(by_point.size());
      for (const std::vector<int64_t>& dims : by_point) values.push_back(dims[i]);
      sizes[node].emplace_back(std::move(values));
    }
  }
  return sizes;
}

Size SizeFollower::Map(absl::FunctionRef<int64_t(size_t point)> fn) const {
  std::vector<int64_t> at;
  at.reserve(points_);
  for (size_t i = 0; i < points_; ++i) at.push_back(fn(i));
  return Size(std::move(at));
}

bool SizeFollower::Same(const Size& a, const Size& b) const {
  if (!a.varies() && !b.varies()) return a.base() == b.base();
  for (size_t i = 0; i < points_; ++i) {
    if (IsAlive(i) && a.at(i) != b.at(i)) return false;
  }
  return true;
}

absl::string_view SizeFollower::NameOf(const Node& node) {
  const absl::string_view name = OperatorName(node);
  return absl::EndsWith(name, "__") ? name : absl::StripSuffix(name, "_");
}

void SizeFollower::GiveUp(const Node& node, absl::string_view why,
                          absl::FunctionRef<bool(size_t point)> is_wrong) {
  for (size_t i = 0; i < points_; ++i) {
    if (!IsAlive(i) || !is_wrong(i)) continue;
    if (is_trial_) {
      trial_failed_ = true;
      return;
    }
    status[i] = absl::FailedPreconditionError(NodeError(node, why).message());
  }
}

absl::Status SizeFollower::Run() {
  RETURN_IF_ERROR(CheckListed(*module_.main()));
  for (round_ = 0;; ++round_) {
    again_ = false;
    edits.clear();
    expands.clear();
    reshapes.clear();
    seen_.clear();
    for (const Size& symbol : symbols_) {
      if (symbol.varies()) seen_[symbol.base()].push_back(symbol);
    }
    status.assign(points_, absl::OkStatus());
    values_ = NodeTable<Extent>(module_);
    for (Node* node : module_.main()->nodes()) RETURN_IF_ERROR(Visit(node));
    if (!status[0].ok()) return status[0];
    if (!again_) return absl::OkStatus();
    if (round_ == kMaxRounds)
      return absl::FailedPreconditionError("sizes depend on each other in too many places");
  }
}

Extent SizeFollower::FromMeta(const ValueMeta* meta) const {
  Extent extent;
  if (meta == nullptr) return extent;
  if (meta->is_tuple) {
    extent.kind = Extent::Kind::kTuple;
    for (const ValueMeta* element : meta->elements) extent.elements.push_back(FromMeta(element));
    return extent;
  }
  if (meta->tensor == nullptr || !meta->tensor->has_shape) return extent;
  extent.kind = Extent::Kind::kTensor;
  for (const Dim& dim : meta->tensor->shape) {
    const auto size = dim.is_static() ? dim.value : EvaluateWithExamples(module_, *dim.expr);
    if (!size.has_value()) return Extent();
    extent.dims.emplace_back(*size);
  }
  return extent;
}

const Extent& SizeFollower::Of(const Argument& argument) const {
  static const Extent kNone;
  return argument.is_node() ? values_[argument.node()] : kNone;
}

const Extent& SizeFollower::First(const Node& node) const {
  if (!node.args().empty()) return Of(node.args()[0]);
  for (const absl::string_view name : {"input", "self", "query"}) {
    if (const Argument* given = node.kwarg(name)) return Of(*given);
  }
  return Of(Argument());
}

Extent SizeFollower::ExtentOf(const Argument& argument) const {
  if (argument.is_node()) return Of(argument);
  if (argument.is_int()) return Extent::Number(Size(argument.integer()));
  Extent extent;
  if (!argument.is_sequence()) return extent;
  extent.kind = Extent::Kind::kTuple;
  for (const Argument& element : argument.elements()) extent.elements.push_back(ExtentOf(element));
  return extent;
}

void SizeFollower::See(const Extent& extent) {
  for (const Size& dim : extent.dims) {
    if (!dim.varies()) continue;
    std::vector<Size>& of = seen_[dim.base()];
    if (!absl::c_linear_search(of, dim)) of.push_back(dim);
  }
}

void SizeFollower::Start(Node* node) {
  const ValueMeta* meta = node->meta();
  const DrawSpec* spec = node->draw_spec();
  std::optional<Argument> constant;
  if (node->op() == Op::kGetAttr) {
    constant = ConstantOf(*node);
    const Attribute* attribute = module_.FindAttribute(node->target());
    if (attribute != nullptr) spec = attribute->draw_spec;
    if (meta == nullptr && attribute != nullptr && attribute->meta != nullptr)
      meta = module_.InternValueMeta(*attribute->meta);
  }
  Extent extent = FromMeta(meta);
  if (const auto it = inputs_.find(node); it != inputs_.end()) extent.dims = it->second;
  if (NumberDType(node->annotation()).has_value()) {
    extent = Extent();
    if (const auto it = inputs_.find(node); it != inputs_.end())
      extent = Extent::Number(it->second[0]);
    if (inputs_.find(node) == inputs_.end() && spec != nullptr && spec->data.is_list() &&
        spec->data.elements().size() == 1 && spec->data.elements()[0].is_int()) {
      extent = Extent::Number(Size(spec->data.elements()[0].integer()));
    }
  }
  if (spec != nullptr && spec->data.is_list() && spec->data.elements().size() == 1 &&
      extent.is_tensor() && extent.rank() == 0) {
    constant = spec->data.elements()[0];
  }
  if (constant.has_value() && constant->is_int() && extent.is_tensor()) {
    extent.number = Size(constant->integer());  // Tracing puts numbers into tensors.
    extent.holds_number = true;
  }
  if (const auto it = grown.find(node); it != grown.end()) {
    for (const auto& [dim, size] : it->second) extent.dims[dim] = size;
  }
  if (spec != nullptr && extent.is_tensor() && meta != nullptr && meta->tensor != nullptr &&
      meta->tensor->dtype == DType::kInt64) {
    if (spec->max.is_int()) extent.most = Size(spec->max.integer());
    if (spec->data.is_list() && (spec->min.is_none() || spec->max.is_none())) {
      int64_t most = 0;
      for (const Argument& element : spec->data.elements())
        most = std::max(most, element.is_int() ? element.integer() : 0);
      extent.most = Size(most);
    }
  }
  See(extent);
  values_[node] = std::move(extent);
}

absl::Status SizeFollower::Visit(Node* node) {
  if (node->is_placeholder() || node->op() == Op::kGetAttr) {
    Start(node);
    return absl::OkStatus();
  }
  if (!node->is_call()) return absl::OkStatus();
  Extent out = FromMeta(node->meta());
  bool grows = forced_.contains(node);
  bool numbers = out.kind == Extent::Kind::kOther;
  node->ForEachOperand([&](const Node* operand) {
    const Extent& of = values_[operand];
    grows |= of.varies();
    numbers |= of.is_number() || (of.is_tuple() && operand->meta() == nullptr);
  });
  if (grows || numbers) {
    const absl::Status followed = Follow(node, &out);
    if (!followed.ok() && grows) {
      if (!node->has_uses()) return absl::OkStatus();
      return absl::FailedPreconditionError(NodeError(*node, followed.message()).message());
    }
  }
  FollowMost(*node, NameOf(*node), &out);
  See(out);
  values_[node] = std::move(out);
  return absl::OkStatus();
}

void SizeFollower::Record(Node* node, Place place, const Size& size) {
  if (is_trial_ || place.at == nullptr || !size.varies()) return;
  const Argument& number = place.number();
  // A number that is computed may be computed wrongly.
  const bool is_other = number.is_node() && Of(number).is_number() && !(Of(number).number == size);
  if (is_other || (number.is_int() && number.integer() == size.base()))
    edits[node].push_back({place, size});
}

std::map<size_t, Size> SizeFollower::EditsOf(const Node* node) const {
  std::map<size_t, Size> made;
  const auto found = edits.find(const_cast<Node*>(node));
  if (found == edits.end()) return made;
  std::map<Place, size_t> places;
  size_t next = 0;
  node->ForEachArgument([&](const Argument& argument) {
    if (argument.kind() == Argument::Kind::kSlice) {
      for (int part = 0; part < 3; ++part)
        places.emplace(Place(&argument, part), next + static_cast<size_t>(part));
    }
    if (!argument.is_aggregate()) places.emplace(&argument, next++);
  });
  for (const Edit& edit : found->second) made[places.at(edit.place)] = edit.size;
  return made;
}

const Size* SizeFollower::ForcedOf(const Node* node, Place place) const {
  const auto it = forced_.find(node);
  if (it == forced_.end()) return nullptr;
  const auto found = it->second.find(place);
  return found == it->second.end() ? nullptr : &found->second;
}

void SizeFollower::Force(const Node* node, Place place, const Size& size) {
  if (is_trial_) return;
  forced_[node][place] = size;
  again_ = true;
}

SizeFollower::SizeList SizeFollower::SizesOf(const Node& node, size_t position,
                                             absl::string_view name) const {
  SizeList list;
  const Argument* given = node.FindArg(name, position);
  if (given == nullptr) return list;
  if (given->is_sequence()) {
    for (const Argument& size : given->elements()) list.places.push_back(&size);
  } else if (Of(*given).is_tuple()) {
    list.numbers = Of(*given).elements;
    return list;
  } else if (position >= node.args().size()) {
    list.places.push_back(given);
  } else {
    for (size_t i = position; i < node.args().size(); ++i) list.places.push_back(&node.args()[i]);
  }
  for (const Argument* place : list.places) {
    list.numbers.push_back(ExtentOf(*place));
    if (const Size* forced = ForcedOf(&node, place)) list.numbers.back() = Extent::Number(*forced);
  }
  return list;
}

const Argument* SizeFollower::DimArg(const Node& node, size_t position) {
  const Argument* axis = node.kwarg("axis");
  return axis != nullptr ? axis : node.FindArg("dim", position);
}

std::optional<size_t> SizeFollower::DimIn(const Argument* argument, size_t rank,
                                          int64_t otherwise) {
  int64_t dim = otherwise;
  if (argument != nullptr && !argument->is_none()) {
    if (!argument->is_int()) return std::nullopt;
    dim = argument->integer();
  }
  if (dim < 0) dim += static_cast<int64_t>(rank);
  if (dim < 0 || dim >= static_cast<int64_t>(rank)) return std::nullopt;
  return static_cast<size_t>(dim);
}

absl::Status SizeFollower::Follow(Node* node, Extent* out) {
  const absl::string_view name = NameOf(*node);
  if (FollowNumbers(*node, name, out)) return absl::OkStatus();
  if (name == "getattr") {
    const absl::string_view attribute = node->args().size() > 1 && node->args()[1].is_string()
                                            ? node->args()[1].string()
                                            : absl::string_view();
    const Extent& in = First(*node);
    if (out->is_tensor() && in.rank() == out->rank() && in.rank() > 1 &&
        (attribute == "T" || attribute == "mT")) {
      out->dims = in.dims;
      std::reverse(attribute == "T" ? out->dims.begin() : out->dims.end() - 2, out->dims.end());
      return absl::OkStatus();
    }
    if (out->is_tensor()) return FollowInferred(node, out);
    return absl::OkStatus();  // device, dtype, …
  }
  if (name.empty() || node->op() == Op::kCallModule || node->HasBody())
    return absl::FailedPreconditionError("no rule says how it changes sizes");
  if (name == "setitem" || name == "copy") return FollowWrite(node, out);
  if (name == "item" || name == "_local_scalar_dense" || name == "tolist") {
    *out = Extent();
    return absl::OkStatus();
  }
  if (name == "multi_head_attention_forward" || name == "_native_multi_head_attention") {
    // None has no meta.
    if (out->kind == Extent::Kind::kOther) return FollowHeads(node, out);
  }
  if (!out->is_tensor() && !out->is_tuple()) {
    if (!node->has_uses()) return absl::OkStatus();
    return absl::FailedPreconditionError("its sizes depend on data, or are not known");
  }
  if (name == "getitem" || name == "__getitem__") return FollowSubscript(node, out);
  if (name == "slice" && out->is_tensor()) {
    const auto cut = CutOfSlice(*node);
    if (!cut.has_value() || First(*node).rank() != out->rank()) return FollowInferred(node, out);
    out->dims = First(*node).dims;
    ASSIGN_OR_RETURN(out->dims[cut->dim], FollowCut(node, *cut));
    return absl::OkStatus();
  }
  return FollowTensor(node, name, out);
}

absl::Status SizeFollower::FollowWrite(Node* node, Extent* out) {
  const absl::Span<const Argument> args = node->args();
  *out = First(*node);
  if (args.size() < 2 || !args[0].is_node() || !args.back().is_node() || !out->is_tensor() ||
      !Of(args.back()).is_tensor()) {
    return absl::OkStatus();
  }
  // What is written to, and how it comes from the dimensions of the tensor.
  std::vector<SubscriptDim> dims;
  if (args.size() == 3 && NameOf(*node) == "setitem") {
    std::optional<std::vector<SubscriptDim>> part = SubscriptDims(*node);
    if (!part.has_value()) return absl::OkStatus();
    dims = *std::move(part);
  } else {
    for (size_t i = 0; i < out->rank(); ++i) dims.push_back({static_cast<int>(i)});
  }
  Node* const value = args.back().node();
  const size_t rank = values_[value].rank();
  for (size_t i = 1; i <= rank && i <= dims.size(); ++i) {
    const SubscriptDim& dim = dims[dims.size() - i];
    const std::optional<Cut> cut = CutOf(*node, dim);
    Size to(1);
    if (cut.has_value()) {
      ASSIGN_OR_RETURN(to, FollowCut(node, *cut));
    } else if (!dim.index_dims.empty()) {
      to = dim.index_dims[0];
    } else if (dim.from >= 0) {
      to = out->dims[static_cast<size_t>(dim.from)];
    }
    const Size from = values_[value].dims[rank - i];
    if (from == to || (from.base() == 1 && !from.varies())) continue;
    if (!from.varies() && Fit(node, value, rank - i, to, false)) continue;
    if (!to.varies() && from.base() == to.base() && !is_trial_) {
      const bool grows = cut.has_value() ? DemandOnCut(node, *cut, from)
                         : dim.from >= 0
                             ? Demand(args[0].node(), static_cast<size_t>(dim.from), from)
                             : false;
      if (grows) continue;
    }
    GiveUp(*node,
           from.varies() ? "writes a value that grows to one that does not"
                         : "writes a value that does not grow to one that does",
           [&](size_t p) { return from.at(p) != to.at(p) && from.at(p) != 1; });
  }
  return absl::OkStatus();
}

std::optional<std::vector<SizeFollower::SubscriptDim>> SizeFollower::SubscriptDims(
    const Node& node) const {
  const Extent& in = First(node);
  const Argument& index = node.args()[1];
  const auto elements = index.is_tuple() ? index.elements() : absl::MakeConstSpan(&index, 1);
  const auto taken = absl::c_count_if(elements, [](const Argument& a) {
    return !a.is_none() && a.kind() != Argument::Kind::kEllipsis;
  });
  std::vector<SubscriptDim> made;
  int next = 0;
  const int rank = static_cast<int>(in.rank());
  std::optional<size_t> tensors_at;
  std::vector<Size> joined;
  bool apart = false, last_was_tensor = false;
  for (const Argument& element : elements) {
    const bool is_tensor = element.is_node() && Of(element).is_tensor();
    if (element.is_none()) {
      made.push_back({});
    } else if (element.kind() == Argument::Kind::kEllipsis) {
      for (auto i = taken; i < rank && next < rank; ++i) made.push_back({next++});
    } else if (next >= rank) {
      return std::nullopt;
    } else if (element.kind() == Argument::Kind::kSlice) {
      made.push_back({next++, &element});
    } else if (is_tensor) {
      const TensorMeta* meta = element.node()->tensor_meta();
      if (meta == nullptr || meta->dtype == DType::kBool || meta->dtype == DType::kUInt8)
        return std::nullopt;
      if (tensors_at.has_value() && !last_was_tensor) apart = true;
      if (!tensors_at.has_value()) tensors_at = made.size();
      const std::vector<Size>& by = Of(element).dims;
      std::vector<Size> wide(std::max(joined.size(), by.size()), Size(1));
      for (size_t i = 1; i <= wide.size(); ++i) {
        Size& to = wide[wide.size() - i];
        if (i <= joined.size()) to = joined[joined.size() - i];
        if (i <= by.size() && (to.base() == 1 && !to.varies())) to = by[by.size() - i];
      }
      joined = std::move(wide);
      ++next;
    } else if (element.is_int() || element.is_node()) {
      ++next;
    } else {
      return std::nullopt;
    }
    last_was_tensor = is_tensor;
  }
  while (next < rank) made.push_back({next++});
  if (tensors_at.has_value()) {
    std::vector<SubscriptDim> dims;
    for (const Size& size : joined) {
      dims.emplace_back();
      dims.back().index_dims = {size};
    }
    made.insert(made.begin() + static_cast<ptrdiff_t>(apart ? 0 : *tensors_at), dims.begin(),
                dims.end());
  }
  return made;
}

std::optional<SizeFollower::Cut> SizeFollower::CutOf(const Node& node,
                                                     const SubscriptDim& dim) const {
  if (dim.slice == nullptr || !node.args()[0].is_node()) return std::nullopt;
  return Cut{node.args()[0].node(),
             static_cast<size_t>(dim.from),
             {dim.slice, 0},
             {dim.slice, 1},
             {dim.slice, 2}};
}

std::optional<SizeFollower::Cut> SizeFollower::CutOfSlice(const Node& node) const {
  const Extent& in = First(node);
  const auto dim = DimIn(node.FindArg("dim", 1), in.rank(), 0);
  if (!in.is_tensor() || !dim.has_value() || node.args().empty() || !node.args()[0].is_node())
    return std::nullopt;
  return Cut{node.args()[0].node(), *dim, node.FindArg("start", 2), node.FindArg("end", 3),
             node.FindArg("step", 4)};
}

absl::StatusOr<Size> SizeFollower::FollowCut(Node* node, const Cut& cut) {
  const Size whole = values_[cut.operand].dims[cut.dim];
  constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  const auto bound = [&](const Place& place, int64_t otherwise) -> std::optional<Size> {
    if (place.at == nullptr || place.number().is_none()) return Size(otherwise);
    if (const Size* forced = ForcedOf(node, place)) return *forced;
    const Extent of = ExtentOf(place.number());
    if (!of.is_number()) return std::nullopt;
    return of.number;
  };
  std::optional<Size> start = bound(cut.start, 0);
  std::optional<Size> stop = bound(cut.stop, kEnd);
  const std::optional<Size> step = bound(cut.step, 1);
  if (!start.has_value() || !stop.has_value() || !step.has_value() || step->varies() ||
      step->base() < 1) {
    return absl::FailedPreconditionError("is cut at a place that depends on data");
  }
  const auto is_int = [](const Place& place) {
    return place.at != nullptr && place.number().is_int();
  };
  // A number that is the size of what grows means all of it.
  if (whole.varies() && !stop->varies() && is_int(cut.stop) && stop->base() > 1 &&
      stop->base() == whole.base()) {
    stop = whole;
  }
  if (whole.varies() && !start->varies() && is_int(cut.start) && start->base() > 1 &&
      start->base() == whole.base()) {
    start = whole;
  }
  if (whole.varies() && !start->varies() && is_int(cut.start) && start->base() < -1 &&
      start->base() == -whole.base()) {
    start = Map([&](size_t p) { return -whole.at(p); });
  }
  Record(node, cut.start, *start);
  Record(node, cut.stop, *stop);
  Size made = Map([&](size_t p) {
    const int64_t size = whole.at(p);
    const auto at = [&](int64_t n) { return std::clamp<int64_t>(n < 0 ? n + size : n, 0, size); };
    const int64_t length = std::max<int64_t>(0, at(stop->at(p)) - at(start->at(p)));
    return length / step->base() + (length % step->base() == 0 ? 0 : 1);
  });
  // What is cut from may be too short.
  if (cut.stop.at != nullptr && ForcedOf(node, cut.stop) != nullptr && !is_trial_) {
    const Size want = Map([&](size_t p) { return std::max(whole.at(p), stop->at(p)); });
    if (!(want == whole) && want.base() == whole.base()) Demand(cut.operand, cut.dim, want);
  }
  GiveUp(*node, "takes an empty part",
         [&](size_t p) { return made.at(p) <= 0 && made.base() > 0; });
  return made;
}

absl::Status SizeFollower::FollowSubscript(Node* node, Extent* out) {
  if (node->args().size() != 2 || !First(*node).is_tensor())
    return absl::FailedPreconditionError("takes a part of a value with unknown sizes");
  const Extent in = First(*node);
  const auto dims = SubscriptDims(*node);
  if (!dims.has_value() || !out->is_tensor() || dims->size() != out->rank())
    return absl::FailedPreconditionError("is indexed with data, or in an unknown way");
  // A tensor that is broadcast with others, and does not grow with them.
  for (size_t i = 0; i < dims->size(); ++i) {
    const SubscriptDim& dim = (*dims)[i];
    if (!dim.index_dims.empty()) {
      out->dims[i] = dim.index_dims[0];
    } else if (dim.from < 0) {
      out->dims[i] = Size(1);
    } else if (dim.slice == nullptr) {
      out->dims[i] = in.dims[static_cast<size_t>(dim.from)];
    } else {
      ASSIGN_OR_RETURN(out->dims[i], FollowCut(node, *CutOf(*node, dim)));
    }
    if (dim.index_dims.empty()) continue;
    const Size& made = out->dims[i];
    GiveUp(*node, "takes an empty part",
           [&](size_t p) { return made.at(p) <= 0 && made.base() > 0; });
  }
  return absl::OkStatus();
}

void SizeFollower::FollowMost(const Node& node, absl::string_view name, Extent* out) const {
  const TensorMeta* meta = node.tensor_meta();
  if (!out->is_tensor() || meta == nullptr ||
      (meta->dtype != DType::kInt64 && meta->dtype != DType::kInt32)) {
    return;
  }
  const auto most = [&](size_t i) -> std::optional<Size> {
    if (i >= node.args().size()) return std::nullopt;
    const Argument& argument = node.args()[i];
    if (argument.is_int()) return Size(argument.integer());
    if (argument.is_node() && Of(argument).is_number()) return Of(argument).number;
    if (argument.is_node()) {
      const TensorMeta* of = argument.node()->tensor_meta();
      if (of != nullptr && of->dtype == DType::kBool) return Size(1);
    }
    return Of(argument).most;
  };
  const auto a = most(0), b = most(1);
  if (name == "arange") {
    const bool has_start = node.args().size() > 1 || node.kwarg("start") != nullptr;
    const Argument* given = node.FindArg(has_start ? "start" : "", 0);
    const Argument* step = node.FindArg("step", 2);
    const int64_t by = step != nullptr && step->is_int() ? step->integer() : 1;
    int64_t start = 0;
    if (has_start) {
      if (given == nullptr || !given->is_int()) return;
      start = given->integer();
    }
    if (by < 1 || out->rank() != 1) return;
    out->most = Map([&](size_t p) { return start + Times(by, out->dims[0].at(p) - 1); });
  } else if (name == "cumsum" && a.has_value() && node.args()[0].is_node()) {
    const Extent& in = First(node);
    const auto dim = DimIn(node.FindArg("dim", 1), in.rank(), 0);
    if (dim.has_value())
      out->most = Map([&](size_t p) { return Times(a->at(p), in.dims[*dim].at(p)); });
  } else if ((name == "add" || name == "iadd") && a.has_value() && b.has_value()) {
    out->most = Map([&](size_t p) { return a->at(p) + b->at(p); });
  } else if (name == "mul" && a.has_value() && b.has_value() && a->base() >= 0 && b->base() >= 0) {
    out->most = Map([&](size_t p) { return Times(a->at(p), b->at(p)); });
  } else if (name == "sub" && a.has_value() && b.has_value() && node.args()[1].is_int()) {
    out->most = Map([&](size_t p) { return a->at(p) - b->at(p); });
  } else if (name == "type_as" || name == "to" || name == "long" || name == "int" ||
             name == "view" || name == "reshape" || name == "expand" || name == "unsqueeze" ||
             name == "squeeze" || name == "repeat" || name == "contiguous" || name == "clone" ||
             name == "getitem" || name == "transpose" || name == "permute" || name == "flatten" ||
             name == "detach" || name == "broadcast_to" || name == "masked_fill") {
    out->most = a;
  } else if ((name == "ones" || name == "zeros") && out->is_tensor()) {
    out->most = Size(1);
  }
}

}  // namespace graphnet
