// Goes backwards: finds the numbers that must follow so that a size grows.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "graphnet/facts/shapes/operator_name.h"
#include "graphnet/passes/rename_inputs.h"
#include "graphnet/passes/resize/size_follower.h"

namespace graphnet {
namespace {

constexpr int kMaxDepth = 200;
constexpr int kMaxTimes = 6;

}  // namespace

bool SizeFollower::Demand(Node* node, size_t dim, const Size& want) {
  if (is_trial_) return false;
  const Extent& of = values_[node];
  if (!of.is_tensor() || dim >= of.rank() || of.dims[dim].base() != want.base()) return false;
  if (of.dims[dim] == want) return true;
  if (depth_ > kMaxDepth) return false;
  Asked& asked = asked_[{node, dim}];
  if (asked.want == want && asked.round == round_) return asked.answer;
  if (!(asked.want == want)) asked.times = 0;
  if (++asked.times > kMaxTimes) return false;
  asked.want = want;
  asked.round = round_;
  asked.answer = false;
  ++depth_;
  const bool answer = DemandNow(node, dim, want);
  --depth_;
  asked_[{node, dim}].answer = answer;
  return answer;
}

bool SizeFollower::DemandNow(Node* node, size_t dim, const Size& want) {
  const Extent& of = values_[node];
  if (of.dims[dim].varies() && !node->is_placeholder() && node->op() != Op::kGetAttr &&
      NameOf(*node) != "getitem") {
    return false;  // It grows in another way.
  }
  if (node->is_placeholder() || node->op() == Op::kGetAttr) {
    const bool is_data = node->is_placeholder() && !IsWeight(*node);
    if (is_data != (may_grow_ == MayGrow::kData)) return false;
    grown[node][dim] = want;
    again_ = true;
    return true;
  }
  if (!node->is_call()) return false;
  const absl::string_view name = NameOf(*node);
  const auto force = [&](const SizeList& list, size_t at) {
    if (at >= list.places.size() || !list.places[at]->is_int()) return false;
    Force(node, list.places[at], want);
    return true;
  };
  if (name == "arange" || name == "range") {
    const bool has_start = node->args().size() > 1 || node->kwarg("start") != nullptr;
    const Argument* end = has_start ? node->FindArg("end", 1) : node->FindArg("end", 0);
    const Argument* step = node->FindArg("step", 2);
    if (end == nullptr || !end->is_int() || (step != nullptr && !step->is_int())) return false;
    const int64_t by = step == nullptr ? 1 : step->integer();
    Force(node, end,
          Map([&](size_t p) { return end->integer() + Times(by, want.at(p) - want.base()); }));
    return true;
  }
  if (const std::vector<const Argument*> counts = CountsOf(*node, name); !counts.empty()) {
    const Argument* one = counts[std::min(dim, counts.size() - 1)];
    if (one == nullptr || !one->is_int()) return false;
    Force(node, one, want);
    return true;
  }
  const bool is_new = absl::StartsWith(name, "new_");
  if (is_new || name == "zeros" || name == "ones" || name == "full" || name == "empty" ||
      name == "rand" || name == "randn") {
    return force(SizesOf(*node, is_new ? 1 : 0, "size"), dim);
  }
  if (node->args().empty()) return false;
  if (name == "expand" || name == "broadcast_to" || name == "repeat" || name == "tile") {
    const Extent& in = First(*node);
    const SizeList list = SizesOf(*node, 1,
                                  name == "repeat" ? "repeats"
                                  : name == "tile" ? "dims"
                                                   : "size");
    if (list.numbers.size() != of.rank() || in.rank() > of.rank()) return false;
    const size_t lead = of.rank() - in.rank();
    const bool is_wide = dim >= lead && in.dims[dim - lead].base() != 1;
    if (is_wide && (name == "repeat" || name == "tile")) {
      if (!list.numbers[dim].is_number() || list.numbers[dim].number.varies()) return false;
      if (list.numbers[dim].number.base() == 1 && node->args()[0].is_node() &&
          Demand(node->args()[0].node(), dim - lead, want)) {
        return true;
      }
      return dim < list.places.size() &&
             DemandCopies(node, {node->args()[0].node(), dim - lead}, list.places[dim], want);
    }
    if (is_wide) {
      return (name == "expand" || name == "broadcast_to") && node->args()[0].is_node() &&
             Demand(node->args()[0].node(), dim - lead, want);
    }
    return force(list, dim);
  }
  if (name == "repeat_interleave" && node->args()[0].is_node() &&
      of.rank() == First(*node).rank()) {
    Node* operand = node->args()[0].node();
    if (DimIn(node->FindArg("dim", 2), of.rank(), 0) != dim) return Demand(operand, dim, want);
    const Argument* times = node->FindArg("repeats", 1);
    return times != nullptr && DemandCopies(node, {operand, dim}, times, want);
  }
  if (name == "interpolate" || name == "upsample") {
    const Argument* size = node->FindArg("size", 1);
    if (size != nullptr && dim >= 2) {
      const Argument* one = size;
      if (size->is_sequence())
        one = dim - 2 < size->elements().size() ? &size->elements()[dim - 2] : nullptr;
      if (one != nullptr && one->is_int()) {
        Force(node, one, want);
        return true;
      }
    }
  }
  if (name == "narrow" && node->FindArg("length", 3) != nullptr &&
      node->FindArg("length", 3)->is_int()) {
    const auto along = DimIn(node->FindArg("dim", 1), of.rank(), 0);
    if (along == dim) {
      Force(node, node->FindArg("length", 3), want);
      return true;
    }
  }
  if (name == "getitem" && node->args().size() == 2 && First(*node).is_tensor()) {
    const auto dims = SubscriptDims(*node);
    if (dims.has_value() && dim < dims->size() && (*dims)[dim].slice != nullptr) {
      const auto cut = CutOf(*node, (*dims)[dim]);
      if (cut.has_value() && DemandOnCut(node, *cut, want)) return true;
    }
    if (dims.has_value() && dim < dims->size() && (*dims)[dim].slice == nullptr &&
        (*dims)[dim].from >= 0) {
      return Demand(node->args()[0].node(), static_cast<size_t>((*dims)[dim].from), want);
    }
  }
  if (name == "slice" && of.rank() == First(*node).rank()) {
    const auto cut = CutOfSlice(*node);
    if (cut.has_value() && cut->dim == dim && DemandOnCut(node, *cut, want)) return true;
    if (cut.has_value() && cut->dim != dim) return Demand(cut->operand, dim, want);
  }
  if (IsPointwiseCall(*node)) {
    bool any = false, all = true;
    for (Node* operand : TensorOperands(*node)) {
      const Extent& operand_of = values_[operand];
      const size_t behind = of.rank() - dim;
      if (behind > operand_of.rank()) continue;
      const size_t at = operand_of.rank() - behind;
      if (operand_of.dims[at].base() != want.base()) continue;
      const bool done = Demand(operand, at, want);
      any |= done;
      all &= done;
    }
    return want.base() == 1 ? any : any && all;
  }
  if ((name == "matmul" || name == "__matmul__" || name == "bmm" || name == "mm") &&
      node->args().size() > 1 && node->args()[1].is_node()) {
    // Rows come from the first operand, columns from the second, and the others from both.
    bool any = false, all = true;
    const size_t behind = of.rank() - dim;
    for (size_t k = 0; k < 2 && node->args()[0].is_node(); ++k) {
      const size_t rank = Of(node->args()[k]).rank();
      if (rank < 2 || behind == k + 1 || behind > rank) continue;
      if (Of(node->args()[k]).dims[rank - behind].base() != want.base()) continue;
      const bool done = Demand(node->args()[k].node(), rank - behind, want);
      any |= done;
      all &= done;
    }
    return any && all;
  }
  if (name == "cat" || name == "concat" || name == "stack") {
    const Argument* list = node->FindArg("tensors", 0);
    const auto along = DimIn(DimArg(*node, 1), of.rank(), 0);
    if (list == nullptr || !list->is_sequence() || !along.has_value()) return false;
    if (*along != dim) {
      const size_t at = name == "stack" && dim > *along ? dim - 1 : dim;
      return absl::c_all_of(list->elements(), [&](const Argument& element) {
        return element.is_node() && Demand(element.node(), at, want);
      });
    }
    if (name == "stack") return false;
    // Each part is as large as something that was seen, or one takes all that is added.
    std::vector<Size> parts;
    for (const Argument& element : list->elements()) {
      if (!element.is_node() || Of(element).rank() != of.rank()) return false;
      const Size& part = Of(element).dims[dim];
      const auto seen = seen_.find(part.base());
      parts.push_back(seen == seen_.end() || part.varies() ? part : seen->second[0]);
    }
    if (Same(want, Map([&](size_t p) {
               int64_t sum = 0;
               for (const Size& part : parts) sum += part.at(p);
               return sum;
             }))) {
      for (size_t i = 0; i < parts.size(); ++i) {
        if (!Demand(list->elements()[i].node(), dim, parts[i])) return false;
      }
      return true;
    }
    for (size_t i = list->elements().size(); i-- > 0;) {
      const Argument& element = list->elements()[i];
      if (!element.is_node() || Of(element).rank() != of.rank()) continue;
      const int64_t size = Of(element).dims[dim].base();
      if (size <= 1 && list->elements().size() > 1) continue;
      if (Demand(element.node(), dim,
                 Map([&](size_t p) { return size + want.at(p) - want.base(); }))) {
        return true;
      }
    }
    return false;
  }
  if ((name == "view" || name == "reshape" || name == "flatten") && node->args()[0].is_node()) {
    // A square that is flattened.
    Node* operand = node->args()[0].node();
    const Extent in = values_[operand];
    for (size_t i = 0; i + 1 < in.rank(); ++i) {
      const int64_t side = in.dims[i].base();
      if (side < 2 || in.dims[i + 1].base() != side || Times(side, side) != want.base()) continue;
      bool is_square = true;
      const Size root = Map([&](size_t p) {
        const auto made =
            static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(want.at(p)))));
        is_square &= !IsAlive(p) || Times(made, made) == want.at(p);
        return made;
      });
      if (is_square && Demand(operand, i, root) && Demand(operand, i + 1, root)) return true;
    }
  }
  return DemandByTrial(node, dim, want);
}

bool SizeFollower::DemandCopies(const Node* node, const Dimension& of, const Argument* times,
                                const Size& want) {
  if (!times->is_int()) return false;
  const int64_t one = values_[of.node].dims[of.dim].base();
  // Both are sizes that grow, such as the sides of a square.
  const auto ones = seen_.find(one), counts = seen_.find(times->integer());
  if (ones != seen_.end() && counts != seen_.end()) {
    for (const Size& a : ones->second) {
      for (const Size& b : counts->second) {
        if (!Same(want, Map([&](size_t p) { return Times(a.at(p), b.at(p)); }))) continue;
        if (!Demand(of.node, of.dim, a)) continue;
        Force(node, times, b);
        return true;
      }
    }
  }
  // There are more copies.
  for (size_t p = 0; p < points_; ++p) {
    if (IsAlive(p) && (one == 0 || want.at(p) % one != 0)) return false;
  }
  Force(node, times, Map([&](size_t p) { return want.at(p) / one; }));
  return true;
}

void SizeFollower::NeedRows(Node* node, const Dimension& table, const std::optional<Size>& most) {
  const Size rows = values_[table.node].dims[table.dim];
  if (!most.has_value() || !most->varies() || most->base() >= rows.base()) return;
  const Size want = Map([&](size_t p) { return std::max(rows.at(p), most->at(p) + 1); });
  if (want == rows) return;
  if (want.base() == rows.base() && Fit(node, table.node, table.dim, want, false)) return;
  GiveUp(*node, "has a table with too few rows for the positions",
         [&](size_t p) { return most->at(p) >= rows.at(p); });
}

bool SizeFollower::DemandOnCut(Node* node, const Cut& cut, const Size& want) {
  const auto number = [](const Place& place) {
    return place.at == nullptr ? Argument() : place.number();
  };
  const Argument first = number(cut.start), last = number(cut.stop), by = number(cut.step);
  const bool starts = first.is_none() || (first.is_int() && first.integer() >= 0);
  const bool steps = by.is_none() || (by.is_int() && by.integer() == 1);
  const int64_t start = first.is_int() ? first.integer() : 0;
  const Size whole = values_[cut.operand].dims[cut.dim];
  // All of it from some place on.
  const bool is_rest =
      starts && steps && (last.is_none() || (last.is_int() && last.integer() >= whole.base()));
  const auto rest = [&] {
    return is_rest && whole.base() == start + want.base() &&
           Demand(cut.operand, cut.dim, Map([&](size_t p) { return start + want.at(p); }));
  };
  if (starts && steps && last.is_int() && last.integer() == start + want.base()) {
    Force(node, cut.stop, Map([&](size_t p) { return start + want.at(p); }));
    // A demand on what is cut follows in the next round.
    return true;
  }
  // The last so many.
  if (first.is_int() && first.integer() == -want.base() && last.is_none()) {
    Force(node, cut.start, Map([&](size_t p) { return -want.at(p); }));
    return whole.base() != want.base() || Demand(cut.operand, cut.dim, want);
  }
  return rest();
}

bool SizeFollower::DemandByTrial(Node* node, size_t dim, const Size& want) {
  // The call, and the part of what it returns.
  Node* call = node;
  std::optional<size_t> part;
  if (OperatorName(*node) == "getitem" && node->args().size() == 2 && node->args()[0].is_node() &&
      values_[node->args()[0].node()].is_tuple() && node->args()[1].is_int()) {
    call = node->args()[0].node();
    const auto size = static_cast<int64_t>(values_[call].elements.size());
    const int64_t i = node->args()[1].integer() + (node->args()[1].integer() < 0 ? size : 0);
    if (i < 0 || i >= size || !call->is_call()) return false;
    part = static_cast<size_t>(i);
  }
  // Tries which dimension of an operand has to grow, and how.
  const Extent recorded = FromMeta(call->meta());
  for (Node* operand : TensorOperands(*call)) {
    for (size_t i = 0; i < values_[operand].rank(); ++i) {
      const Size now = values_[operand].dims[i];
      const int64_t from = now.base(), to = want.base();
      if (now.varies() || from == 0 || to == 0) continue;
      std::vector<Size> may;
      if (from == Times(to, to) && to > 1)
        may.push_back(Map([&](size_t p) { return Times(want.at(p), want.at(p)); }));
      if (from == to) {
        may.push_back(want);
      } else if (to % from == 0) {
        may.push_back(Map([&](size_t p) { return want.at(p) / (to / from); }));
      } else if (from % to == 0) {
        may.push_back(Map([&](size_t p) { return Times(want.at(p), from / to); }));
      }
      for (const Size& one : may) {
        values_[operand].dims[i] = one;
        is_trial_ = true;
        trial_failed_ = false;
        Extent out = recorded;
        const absl::Status followed = Follow(call, &out);
        is_trial_ = false;
        values_[operand].dims[i] = now;
        if (!followed.ok() || trial_failed_) continue;
        if (part.has_value() && *part >= out.elements.size()) continue;
        const Extent& found = part.has_value() ? out.elements[*part] : out;
        if (!found.is_tensor() || dim >= found.rank() || !Same(found.dims[dim], want)) continue;
        if (Demand(operand, i, one)) return true;
      }
    }
  }
  return false;
}

}  // namespace graphnet
