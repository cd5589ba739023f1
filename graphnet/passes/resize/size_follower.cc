// Follows nodes, numbers and subscripts.
#include "graphnet/passes/resize/size_follower.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/status.h"
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
constexpr int64_t kMaxNumber = int64_t{1} << 40;

int64_t FloorDiv(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

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

// Returns the result of an operation of Python on two ints; nullopt for an unknown one.
std::optional<int64_t> Compute(absl::string_view name, int64_t a, int64_t b) {
  const auto small = [](int64_t n) { return n > -kMaxNumber && n < kMaxNumber; };
  if (!small(a) || !small(b)) return std::nullopt;
  if (name == "add") return a + b;
  if (name == "sub") return a - b;
  if (name == "mul")
    return small(b == 0 ? 0 : a) &&
                   (b == 0 || std::abs(a) < kMaxNumber / std::max<int64_t>(1, std::abs(b)))
               ? std::optional(a * b)
               : std::nullopt;
  if (name == "floordiv" || name == "floor_divide")
    return b == 0 ? std::nullopt : std::optional(FloorDiv(a, b));
  if (name == "mod" || name == "remainder")
    return b == 0 ? std::nullopt : std::optional(a - b * FloorDiv(a, b));
  if (name == "max" || name == "sym_max") return std::max(a, b);
  if (name == "min" || name == "sym_min") return std::min(a, b);
  if (name == "truediv") return b != 0 && a % b == 0 ? std::optional(a / b) : std::nullopt;
  return std::nullopt;
}

}  // namespace

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
  if (node->op() == Op::kGetAttr) {
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
  FollowMost(*node, absl::StripSuffix(OperatorName(*node), "_"), &out);
  See(out);
  values_[node] = std::move(out);
  return absl::OkStatus();
}

void SizeFollower::Record(Node* node, Place place, const Size& size) {
  if (is_trial_ || place.at == nullptr || !size.varies()) return;
  const Argument& number = place.number();
  if (number.is_int() && number.integer() == size.base()) edits[node].push_back({place, size});
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

bool SizeFollower::FollowNumbers(const Node& node, absl::string_view name, Extent* out) const {
  const absl::Span<const Argument> args = node.args();
  if (name == "getattr" && args.size() > 1 && args[1].is_string() && Of(args[0]).is_tensor()) {
    if (args[1].string() == "shape") {
      *out = Extent();
      out->kind = Extent::Kind::kTuple;
      for (const Size& dim : Of(args[0]).dims) out->elements.push_back(Extent::Number(dim));
      return true;
    }
    if (args[1].string() == "ndim") {
      *out = Extent::Number(Size(static_cast<int64_t>(Of(args[0]).rank())));
      return true;
    }
    return false;
  }
  if (name == "size" || name == "sym_size" || name == "numel") {
    if (args.empty() || !Of(args[0]).is_tensor()) return false;
    const Extent& in = Of(args[0]);
    if (name == "numel") {
      *out = Extent::Number(Map([&](size_t p) {
        int64_t product = 1;
        for (const Size& dim : in.dims) product = Times(product, dim.at(p));
        return product;
      }));
      return true;
    }
    if (const Argument* dim = node.FindArg("dim", 1)) {
      const auto at = DimIn(dim, in.rank(), 0);
      if (!at.has_value()) return false;
      *out = Extent::Number(in.dims[*at]);
      return true;
    }
    *out = Extent();
    out->kind = Extent::Kind::kTuple;
    for (const Size& dim : in.dims) out->elements.push_back(Extent::Number(dim));
    return true;
  }
  if (name == "getitem" && args.size() == 2 && Of(args[0]).is_tuple()) {
    const std::vector<Extent>& elements = Of(args[0]).elements;
    const auto size = static_cast<int64_t>(elements.size());
    if (args[1].is_int()) {
      const int64_t i = args[1].integer() + (args[1].integer() < 0 ? size : 0);
      if (i < 0 || i >= size) return false;
      *out = elements[static_cast<size_t>(i)];
      return true;
    }
    if (args[1].kind() == Argument::Kind::kSlice) {
      const auto at = [&](const Argument& a, int64_t otherwise) {
        if (!a.is_int()) return otherwise;
        return std::clamp<int64_t>(a.integer() + (a.integer() < 0 ? size : 0), 0, size);
      };
      const auto parts = args[1].elements();
      const int64_t begin = at(parts[0], 0), end = std::max(begin, at(parts[1], size));
      *out = Extent();
      out->kind = Extent::Kind::kTuple;
      out->elements.assign(elements.begin() + begin, elements.begin() + end);
      return true;
    }
    return false;
  }
  if (name == "sym_sum" && !args.empty()) {
    const Extent all = ExtentOf(args[0]);
    if (!absl::c_all_of(all.elements, [](const Extent& e) { return e.is_number(); })) return false;
    *out = Extent::Number(Map([&](size_t p) {
      int64_t sum = 0;
      for (const Extent& element : all.elements) sum += element.number.at(p);
      return sum;
    }));
    return true;
  }
  if ((name == "int" || name == "sym_int" || name == "pos") && args.size() == 1 &&
      Of(args[0]).is_number()) {
    *out = Of(args[0]);
    return true;
  }
  if (name == "neg" && args.size() == 1 && Of(args[0]).is_number()) {
    *out = Extent::Number(Map([&](size_t p) { return -Of(args[0]).number.at(p); }));
    return true;
  }
  if (args.size() != 2) return false;
  if (name == "mul" && args[1].is_float() && Of(args[0]).is_number()) {
    // A factor such as 2.0.
    const Size& from = Of(args[0]).number;
    Size made = Map([&](size_t p) {
      return static_cast<int64_t>(std::floor(static_cast<double>(from.at(p)) * args[1].real()));
    });
    *out = Extent::Number(std::move(made));
    return true;
  }
  const Extent a = ExtentOf(args[0]), b = ExtentOf(args[1]);
  if (!a.is_number() || !b.is_number()) return false;
  absl::string_view plain = name;
  for (const absl::string_view in_place : {"iadd", "isub", "imul", "ifloordiv", "imod"}) {
    if (plain == in_place) plain.remove_prefix(1);
  }
  bool is_known = true;
  Size made = Map([&](size_t p) {
    const auto one = Compute(plain, a.number.at(p), b.number.at(p));
    is_known &= one.has_value() || p > 0;
    return one.value_or(0);
  });
  if (!is_known) return false;
  *out = Extent::Number(std::move(made));
  return true;
}

absl::Status SizeFollower::Follow(Node* node, Extent* out) {
  const absl::string_view name = absl::StripSuffix(OperatorName(*node), "_");
  if (FollowNumbers(*node, name, out)) return absl::OkStatus();
  if (name == "getattr") {
    if (out->is_tensor()) return FollowInferred(node, out);
    return absl::OkStatus();  // device, dtype, …
  }
  if (name.empty() || node->op() == Op::kCallModule || node->HasBody())
    return absl::FailedPreconditionError("no rule says how it changes sizes");
  if (name == "setitem" || name == "copy") {
    // Dimensions correspond from the last one on.
    if (node->args().size() < 2) return absl::OkStatus();
    const Extent& to = First(*node);
    const Extent& from = Of(node->args().back());
    *out = to;
    if (!from.is_tensor()) return absl::OkStatus();
    for (size_t i = 1; i <= from.rank() && i <= to.rank(); ++i) {
      const Size& want = from.dims[from.rank() - i];
      const size_t dim = to.rank() - i;
      if (!want.varies() || to.dims[dim].varies() || to.dims[dim].base() != want.base()) continue;
      if (!Fit(node, node->args()[0].node(), dim, want, false)) {
        GiveUp(*node, "writes a value that grows to one that does not",
               [&](size_t p) { return want.at(p) != want.base(); });
      }
    }
    return absl::OkStatus();
  }
  if (name == "item" || name == "_local_scalar_dense" || name == "tolist") {
    *out = Extent();
    return absl::OkStatus();
  }
  if (!out->is_tensor() && !out->is_tuple()) {
    if (!node->has_uses()) return absl::OkStatus();
    return absl::FailedPreconditionError("its sizes depend on data, or are not known");
  }
  if (name == "getitem" || name == "__getitem__") return FollowSubscript(node, out);
  return FollowTensor(node, name, out);
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
      const Size& whole = in.dims[static_cast<size_t>(dim.from)];
      const auto parts = dim.slice->elements();
      const auto bound = [&](int at, int64_t otherwise) -> std::optional<Size> {
        const Argument& part = parts[static_cast<size_t>(at)];
        if (part.is_none()) return Size(otherwise);
        if (const Size* forced = ForcedOf(node, {dim.slice, at})) return *forced;
        const Extent of = ExtentOf(part);
        if (!of.is_number()) return std::nullopt;
        return of.number;
      };
      std::optional<Size> start = bound(0, 0);
      std::optional<Size> stop = bound(1, std::numeric_limits<int64_t>::max());
      const std::optional<Size> step = bound(2, 1);
      if (!start.has_value() || !stop.has_value() || !step.has_value() || step->varies() ||
          step->base() < 1) {
        return absl::FailedPreconditionError("is cut at a place that depends on data");
      }
      // A number that is the size of what grows means all of it.
      if (whole.varies() && !stop->varies() && parts[1].is_int() && stop->base() > 1 &&
          stop->base() == whole.base()) {
        stop = whole;
      }
      if (whole.varies() && !start->varies() && parts[0].is_int() && start->base() > 1 &&
          start->base() == whole.base()) {
        start = whole;
      }
      if (whole.varies() && !start->varies() && parts[0].is_int() && start->base() < -1 &&
          start->base() == -whole.base()) {
        start = Map([&](size_t p) { return -whole.at(p); });
      }
      Record(node, {dim.slice, 0}, *start);
      Record(node, {dim.slice, 1}, *stop);
      out->dims[i] = Map([&](size_t p) {
        const int64_t size = whole.at(p);
        const auto at = [&](int64_t n) {
          return std::clamp<int64_t>(n < 0 ? n + size : n, 0, size);
        };
        const int64_t length = std::max<int64_t>(0, at(stop->at(p)) - at(start->at(p)));
        return (length + step->base() - 1) / step->base();
      });
      // What is cut from may be too short.
      if (ForcedOf(node, {dim.slice, 1}) != nullptr && !is_trial_) {
        const Size want = Map([&](size_t p) { return std::max(whole.at(p), stop->at(p)); });
        if (!(want == whole) && want.base() == whole.base() && node->args()[0].is_node())
          Demand(node->args()[0].node(), static_cast<size_t>(dim.from), want);
      }
    }
    const SubscriptDim& done = (*dims)[i];
    if (done.slice == nullptr && done.index_dims.empty()) continue;
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
