// Goes through the nodes, and follows the largest numbers that they may hold.
#include "graphnet/passes/resize/size_follower.h"

#include <algorithm>
#include <cmath>
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
constexpr double kMaxSizeFactor = 1 << 20;  // of a size, in a tensor of floats
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
    wider_.clear();
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
  // Tracing puts numbers into tensors, factors such as 2.0 too.
  if (constant.has_value() && constant->is_float() &&
      constant->real() == std::rint(constant->real()) &&
      std::abs(constant->real()) < kMaxSizeFactor) {
    constant = Argument(static_cast<int64_t>(constant->real()));
  }
  if (constant.has_value() && constant->is_int() && extent.is_tensor()) {
    extent.number = Size(constant->integer());
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
  if (grows || numbers || CutsMiddle(*node)) {
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
