// Follows subscripts, slices, and what is padded to be cut into windows.
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "graphnet/base/status.h"
#include "graphnet/passes/resize/size_follower.h"

namespace graphnet {

absl::Status SizeFollower::FollowWrite(Node* node, Extent* out) {
  const absl::Span<const Argument> args = node->args();
  *out = First(*node);
  if (args.size() < 2 || !args[0].is_node() || !args.back().is_node() || !out->is_tensor() ||
      !Of(args.back()).is_tensor()) {
    return absl::OkStatus();
  }
  // The value that is written to, and how it comes from the dimensions of the tensor.
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

std::optional<Size> SizeFollower::MiddleOf(const Cut& cut) const {
  const Size& whole = values_[cut.operand].dims[cut.dim];
  if (cut.start.at == nullptr || cut.stop.at == nullptr || whole.varies()) return std::nullopt;
  const Argument &first = cut.start.number(), &last = cut.stop.number();
  if (!first.is_int() || !last.is_int() || first.integer() < 1 || whole.base() % 2 == 0 ||
      last.integer() != whole.base() - first.integer() || last.integer() <= first.integer())
    return std::nullopt;
  const int64_t n = last.integer() - whole.base() / 2;
  const auto seen = seen_.find(n);
  return n < 2 || seen == seen_.end() ? std::nullopt : std::optional(seen->second[0]);
}

bool SizeFollower::CutsMiddle(const Node& node) const {
  if (node.target() != "operator.getitem" || node.args().size() != 2 || !First(node).is_tensor())
    return false;
  const auto dims = SubscriptDims(node);
  return dims.has_value() && absl::c_any_of(*dims, [&](const SubscriptDim& dim) {
           const auto cut = CutOf(node, dim);
           return cut.has_value() && MiddleOf(*cut).has_value();
         });
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
  if (const auto n = MiddleOf(cut); n.has_value()) {
    const int64_t half = whole.base() / 2;
    start = Map([&](size_t p) { return half + 1 - n->at(p); });
    stop = Map([&](size_t p) { return half + n->at(p); });
    wider_.emplace_back(Map([&](size_t p) { return 2 * n->at(p) - 1; }), *n);
    GiveUp(*node, "has a table with too few rows for the positions",
           [&](size_t p) { return n->at(p) > half + 1; });
  }
  for (const auto& [wider, size] : wider_) {
    if (!stop->varies() && is_int(cut.stop) && Same(whole, wider) && stop->base() == size.base())
      stop = size;
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
  // A table that is looked up by one tensor of positions.
  const Argument& index = node->args()[1];
  if (index.is_node() && Of(index).is_tensor())
    NeedRows(node, {node->args()[0].node(), 0}, Of(index).most);
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

std::optional<int64_t> SizeFollower::WindowOf(const Node& node, size_t dim, int depth) const {
  const Extent in = FromMeta(node.meta());
  if (!in.is_tensor() || depth > 3) return std::nullopt;
  for (const Node* user : node.users()) {
    if (!user->is_call()) continue;
    const absl::string_view name = NameOf(*user);
    if (name == "roll" || name == "contiguous") {
      const auto found = WindowOf(*user, dim, depth + 1);
      if (found.has_value()) return found;
    }
    const Extent out = FromMeta(user->meta());
    if ((name != "view" && name != "reshape") || !out.is_tensor()) continue;
    const auto groups = GroupsOf(in.dims, out.dims);
    if (!groups.has_value()) continue;
    for (const Group& group : *groups) {
      if (group.in0 == dim && group.in1 == dim + 1 && group.out1 == group.out0 + 2)
        return out.dims[group.out0 + 1].base();
    }
  }
  return std::nullopt;
}

absl::Status SizeFollower::FollowPad(Node* node, Extent* out) {
  const Extent& in = First(*node);
  const Argument* pad = node->FindArg("pad", 1);
  if (!in.is_tensor() || in.rank() != out->rank() || pad == nullptr || !pad->is_sequence() ||
      !absl::c_all_of(pad->elements(), [](const Argument& n) { return n.is_int(); })) {
    return FollowInferred(node, out);
  }
  const absl::Span<const Argument> ends = pad->elements();
  for (size_t i = 0; i < in.rank(); ++i) {
    const size_t place = 2 * (in.rank() - 1 - i) + 1;
    const int64_t before = place < ends.size() ? ends[place - 1].integer() : 0;
    const int64_t after = place < ends.size() ? ends[place].integer() : 0;
    const Size& size = in.dims[i];
    Size added(after);
    const std::optional<int64_t> window =
        size.varies() && before == 0 && after > 0 ? WindowOf(*node, i, 0) : std::nullopt;
    if (window.has_value() && *window > after && (size.base() + after) % *window == 0) {
      // It becomes a whole number of windows.
      added = Map([&](size_t p) { return (*window - size.at(p) % *window) % *window; });
      Record(node, &ends[place], added);
    }
    out->dims[i] = Map([&](size_t p) { return before + size.at(p) + added.at(p); });
    if (added.varies()) wider_.emplace_back(out->dims[i], size);
  }
  return absl::OkStatus();
}

}  // namespace graphnet
