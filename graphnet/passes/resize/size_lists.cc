// Follows calls that are given sizes as numbers.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/shapes/operator_name.h"
#include "graphnet/passes/resize/size_follower.h"

namespace graphnet {

std::optional<std::vector<SizeFollower::Group>> SizeFollower::GroupsOf(
    absl::Span<const Size> in, absl::Span<const Size> out) const {
  std::vector<Group> groups;
  size_t i = 0, j = 0;
  while (i < in.size() || j < out.size()) {
    const size_t i0 = i, j0 = j;
    int64_t a = i < in.size() ? in[i++].base() : 1;
    int64_t b = j < out.size() ? out[j++].base() : 1;
    while (a != b) {
      if (a < b && i < in.size()) {
        a = Times(a, in[i++].base());
      } else if (b < a && j < out.size()) {
        b = Times(b, out[j++].base());
      } else {
        return std::nullopt;
      }
    }
    groups.push_back({i0, i, j0, j});
  }
  // Sizes of one that are left belong to their neighbours.
  for (size_t k = 0; k < groups.size();) {
    const Group& group = groups[k];
    const bool is_half = group.in0 == group.in1 || group.out0 == group.out1;
    if (!is_half || groups.size() == 1) {
      ++k;
      continue;
    }
    Group& into = k > 0 ? groups[k - 1] : groups[1];
    into = {std::min(into.in0, group.in0), std::max(into.in1, group.in1),
            std::min(into.out0, group.out0), std::max(into.out1, group.out1)};
    groups.erase(groups.begin() + static_cast<ptrdiff_t>(k));
  }
  return groups;
}

bool SizeFollower::SolveGroup(absl::Span<const Size> in, const Group& group, const SizeList& list,
                              absl::Span<const Size* const> forced, bool allows_rest,
                              std::vector<Size>* out) {
  const Size product = Map([&](size_t p) {
    int64_t all = 1;
    for (size_t i = group.in0; i < group.in1; ++i) all = Times(all, in[i].at(p));
    return all;
  });
  const size_t n = group.out1 - group.out0;
  if (n == 0) return !product.varies();
  // What each size may become, the likeliest first.
  std::vector<std::vector<Size>> may(n);
  std::optional<size_t> rest;
  bool has_rest = false;
  for (size_t at = group.out0; at < group.out1 && at < list.numbers.size(); ++at)
    has_rest |= list.numbers[at].is_number() && list.numbers[at].number.base() == -1;
  for (size_t k = 0; k < n; ++k) {
    const size_t at = group.out0 + k;
    const Size recorded = Size((*out)[at]);
    if (forced[at] != nullptr) {
      may[k] = {*forced[at]};
      continue;
    }
    const bool is_listed = at < list.numbers.size();
    if (is_listed && list.numbers[at].is_number() && list.numbers[at].number.varies()) {
      may[k] = {list.numbers[at].number};
      continue;
    }
    if (is_listed && list.numbers[at].is_number() && list.numbers[at].number.base() == -1) {
      rest = k;
      continue;
    }
    const bool is_fixed = is_listed && !list.places.empty() && list.places[at]->is_node();
    const auto add = [&](const Size& size) {
      if (!absl::c_linear_search(may[k], size)) may[k].push_back(size);
    };
    if (!is_fixed && product.varies()) {
      for (size_t i = group.in0; i < group.in1; ++i) {
        if (in[i].varies() && in[i].base() == recorded.base()) add(in[i]);
      }
      for (const Size& symbol : symbols_) {
        if (symbol.varies() && symbol.base() == recorded.base()) add(symbol);
      }
      // What grows otherwise, the -1 may take.
      if (has_rest) add(recorded);
      const auto seen = seen_.find(recorded.base());
      if (seen != seen_.end()) absl::c_for_each(seen->second, add);
    }
    add(recorded);
    if (is_fixed || !product.varies()) continue;
    for (const Size& symbol : symbols_) {
      if (!symbol.varies() || recorded.base() % symbol.base() != 0) continue;
      const int64_t factor = recorded.base() / symbol.base();
      add(Map([&](size_t p) { return Times(factor, symbol.at(p)); }));
      for (const Size& other : symbols_) {
        if (!other.varies() || &other == &symbol || factor % other.base() != 0) continue;
        add(Map([&](size_t p) {
          return Times(Times(factor / other.base(), symbol.at(p)), other.at(p));
        }));
      }
    }
  }
  // Tries all choices in order; `rest` takes what the others leave.
  std::vector<size_t> choice(n, 0);
  const auto product_of_others = [&](size_t p) {
    int64_t all = 1;
    for (size_t k = 0; k < n; ++k) {
      if (rest != k) all = Times(all, may[k][choice[k]].at(p));
    }
    return all;
  };
  const auto take = [&] {
    for (size_t k = 0; k < n; ++k) {
      if (rest == k) {
        (*out)[group.out0 + k] = Map([&](size_t p) {
          const int64_t others = product_of_others(p);
          return others == 0 ? 0 : product.at(p) / others;
        });
      } else {
        (*out)[group.out0 + k] = may[k][choice[k]];
      }
    }
  };
  const auto next = [&] {
    for (size_t k = n; k-- > 0;) {
      if (rest == k) continue;
      if (++choice[k] < may[k].size()) return true;
      choice[k] = 0;
    }
    return false;
  };
  if (rest.has_value()) may[*rest] = {Size(1)};
  const auto fits_at = [&](size_t p) {
    const int64_t others = product_of_others(p);
    if (!rest.has_value()) return others == product.at(p);
    return others > 0 && product.at(p) % others == 0 &&
           (p > 0 || product.at(0) / others == (*out)[group.out0 + *rest].base());
  };
  // Returns the outermost size that grows; what a -1 takes is open.
  const auto outermost = [&] {
    for (size_t k = 0; k < n; ++k) {
      if (may[k][choice[k]].varies()) return k;
    }
    return n;
  };
  // Of the choices that fit, one in which the outermost size grows.
  int budget = 20000;
  std::optional<std::vector<size_t>> best_choice;
  size_t best_first = n;
  do {
    const size_t first = outermost();
    if (best_choice.has_value() && first >= best_first) continue;
    bool fits = true;
    for (size_t p = 0; p < points_ && fits; ++p) fits = !IsAlive(p) || fits_at(p);
    if (!fits) continue;
    best_choice = choice;
    best_first = first;
    if (first == 0 || rest.has_value()) break;
  } while (next() && --budget > 0);
  if (best_choice.has_value()) {
    choice = *std::move(best_choice);
    take();
    return true;
  }
  if (rest.has_value()) return false;
  if (!allows_rest) return false;
  // The outermost size takes the rest, at the most points.
  size_t best_count = 0, best = 0;
  std::vector<Size> recorded(n);
  for (size_t k = 0; k < n; ++k)
    recorded[k] = may[k].size() == 1 ? may[k][0] : (*out)[group.out0 + k];
  for (size_t k = 0; k < n; ++k) {
    if (forced[group.out0 + k] != nullptr) continue;
    size_t count = 0;
    for (size_t p = 0; p < points_; ++p) {
      int64_t others = 1;
      for (size_t l = 0; l < n; ++l) {
        if (l != k) others = Times(others, recorded[l].at(p));
      }
      count += IsAlive(p) && others > 0 && product.at(p) % others == 0 &&
               (p > 0 || product.at(p) / others == recorded[k].base());
    }
    if (count > best_count) {
      best_count = count;
      best = k;
    }
  }
  if (best_count < 2) return false;
  for (size_t k = 0; k < n; ++k) (*out)[group.out0 + k] = recorded[k];
  (*out)[group.out0 + best] = Map([&](size_t p) {
    int64_t others = 1;
    for (size_t l = 0; l < n; ++l) {
      if (l != best) others = Times(others, recorded[l].at(p));
    }
    return others == 0 || product.at(p) % others != 0 ? 0 : product.at(p) / others;
  });
  return true;
}

absl::Status SizeFollower::FollowView(Node* node, absl::string_view name, Extent* out) {
  const Extent in = First(*node);
  if (!in.is_tensor() || !out->is_tensor())
    return absl::FailedPreconditionError("has unknown sizes");
  if (node->args().size() == 2 && node->args()[1].kind() == Argument::Kind::kDType)
    return FollowInferred(node, out);
  SizeList list;
  size_t lead = 0;
  if (name == "unflatten") {
    const auto dim = DimIn(node->FindArg("dim", 1), in.rank(), 0);
    const SizeList part = SizesOf(*node, 2, "sizes");
    if (!dim.has_value() || part.places.empty()) return FollowInferred(node, out);
    // The other dimensions stay.
    lead = *dim;
    for (size_t i = 0; i < in.rank(); ++i) {
      if (i == *dim) {
        list.numbers.insert(list.numbers.end(), part.numbers.begin(), part.numbers.end());
      } else {
        list.numbers.push_back(Extent::Number(in.dims[i]));
      }
    }
    const Group group{*dim, *dim + 1, *dim, *dim + part.numbers.size()};
    if (list.numbers.size() != out->rank()) return FollowInferred(node, out);
    std::vector<const Size*> forced(out->rank(), nullptr);
    for (size_t i = 0; i < *dim; ++i) out->dims[i] = in.dims[i];
    for (size_t i = *dim + 1; i < in.rank(); ++i)
      out->dims[i + part.numbers.size() - 1] = in.dims[i];
    if (!SolveGroup(in.dims, group, list, forced, true, &out->dims))
      return absl::FailedPreconditionError("splits a size that grows");
    list.places = part.places;
  } else {
    list = SizesOf(*node, 1, name == "view" ? "size" : "shape");
    if (list.numbers.size() != out->rank())
      return absl::FailedPreconditionError("has unknown sizes");
    std::vector<const Size*> forced(out->rank(), nullptr);
    for (size_t i = 0; i < list.places.size(); ++i) forced[i] = ForcedOf(node, list.places[i]);
    if (!in.varies() && absl::c_all_of(forced, [](const Size* f) { return f == nullptr; }) &&
        absl::c_none_of(list.numbers, [](const Extent& e) { return e.varies(); })) {
      return absl::OkStatus();
    }
    auto groups = GroupsOf(in.dims, out->dims);
    if (!groups.has_value()) return absl::FailedPreconditionError("has sizes that do not fit");
    for (size_t k = 0; k < groups->size(); ++k) {
      Group group = (*groups)[k];
      const std::vector<Size> recorded = out->dims;
      if (SolveGroup(in.dims, group, list, forced, false, &out->dims)) continue;
      // Sizes of one beside it may be what grows.
      const auto is_of_ones = [&](const Group& g) {
        for (size_t i = g.in0; i < g.in1; ++i) {
          if (in.dims[i].base() != 1) return false;
        }
        return true;
      };
      bool solved = false;
      for (size_t left = k; left-- > 0 && !solved && is_of_ones((*groups)[left]);) {
        group.in0 = (*groups)[left].in0;
        group.out0 = (*groups)[left].out0;
        out->dims = recorded;
        for (size_t i = group.out0; i < group.out1; ++i) out->dims[i] = Size(out->dims[i].base());
        solved = SolveGroup(in.dims, group, list, forced, false, &out->dims);
      }
      if (!solved) {
        out->dims = recorded;
        group = (*groups)[k];
        for (size_t right = k + 1;
             right < groups->size() && !solved && is_of_ones((*groups)[right]); ++right) {
          group.in1 = (*groups)[right].in1;
          group.out1 = (*groups)[right].out1;
          solved = SolveGroup(in.dims, group, list, forced, false, &out->dims);
          if (solved) k = right;
        }
      }
      if (solved) continue;
      out->dims = recorded;
      if (!SolveGroup(in.dims, (*groups)[k], list, forced, true, &out->dims))
        return absl::FailedPreconditionError("splits or joins a size that grows");
    }
    // A size of one fits any strides; a larger one may need a copy where it is joined.
    for (const Group& group : *groups) {
      bool grows_from_one = false;
      for (size_t i = group.in0; i < group.in1; ++i)
        grows_from_one |= in.dims[i].varies() && in.dims[i].base() == 1;
      const bool is_view = name != "reshape" && node->kwargs().empty();
      if (grows_from_one && group.in1 - group.in0 > 1 && is_view && !is_trial_)
        reshapes.insert(node);
    }
  }
  for (size_t i = 0; i < list.places.size(); ++i) {
    const Size& size = out->dims[lead + i];
    if (list.places[i]->is_node() && list.numbers[lead + i].is_number() &&
        list.numbers[lead + i].number.base() != size.base() &&
        list.numbers[lead + i].number.base() != -1) {
      GiveUp(*node, "has a size that should grow but does not",
             [&](size_t p) { return list.numbers[lead + i].number.at(p) != size.at(p); });
    }
    Record(node, list.places[i], size);
  }
  for (const Size& size : out->dims)
    GiveUp(*node, "splits a size that its parts do not divide",
           [&](size_t p) { return size.at(p) <= 0 && size.base() > 0; });
  // The sizes must still have the product of the operand's.
  GiveUp(*node, "splits or joins a size that grows", [&](size_t p) {
    double from = 1, to = 1;
    for (const Size& dim : in.dims) from *= static_cast<double>(dim.at(p));
    for (const Size& dim : out->dims) to *= static_cast<double>(dim.at(p));
    return from != to;
  });
  return absl::OkStatus();
}

absl::Status SizeFollower::FollowFlatten(const Node& node, Extent* out) {
  const Extent& in = First(node);
  const auto first = DimIn(node.FindArg("start_dim", 1), in.rank(), 0);
  const auto last = DimIn(node.FindArg("end_dim", 2), in.rank(), -1);
  if (!first.has_value() || !last.has_value() || *last < *first)
    return absl::FailedPreconditionError("has unknown sizes");
  std::vector<Size> dims(in.dims.begin(), in.dims.begin() + static_cast<ptrdiff_t>(*first));
  dims.push_back(Map([&](size_t p) {
    int64_t product = 1;
    for (size_t i = *first; i <= *last; ++i) product *= in.dims[i].at(p);
    return product;
  }));
  dims.insert(dims.end(), in.dims.begin() + static_cast<ptrdiff_t>(*last) + 1, in.dims.end());
  if (dims.size() != out->rank()) return absl::FailedPreconditionError("has unknown sizes");
  out->dims = std::move(dims);
  return absl::OkStatus();
}

absl::Status SizeFollower::FollowExpand(Node* node, Extent* out) {
  const Extent in = First(*node);
  const SizeList list = SizesOf(*node, 1, "size");
  if (!in.is_tensor() || list.numbers.size() != out->rank() || out->rank() < in.rank())
    return absl::FailedPreconditionError("has unknown sizes");
  const size_t lead = out->rank() - in.rank();
  for (size_t i = 0; i < out->rank(); ++i) {
    if (!list.numbers[i].is_number()) return absl::FailedPreconditionError("has unknown sizes");
    const Size asked = list.numbers[i].number;
    if (i < lead) {
      out->dims[i] = asked;
    } else {
      const Size& from = in.dims[i - lead];
      if (asked.base() == -1 || (from.varies() && from.base() == out->dims[i].base())) {
        out->dims[i] = from;
        if (asked.varies() && !Same(asked, from)) {
          GiveUp(*node, "joins two sizes that were equal and are not any more",
                 [&](size_t p) { return from.at(p) != 1 && asked.at(p) != from.at(p); });
        }
      } else {
        out->dims[i] = asked;
        if (asked.varies() && !from.varies() && from.base() != 1) {
          Fit(node, node->args()[0].node(), i - lead, asked, false);
        }
        GiveUp(*node, "expands a size that is not one", [&](size_t p) {
          return from.at(p) != 1 && from.at(p) != asked.at(p) &&
                 !(again_ && !from.varies() && asked.varies());
        });
      }
    }
    if (!list.places.empty()) Record(node, list.places[i], out->dims[i]);
  }
  return absl::OkStatus();
}

absl::Status SizeFollower::FollowFactory(Node* node, absl::string_view name, Extent* out) {
  const bool has_high = name == "randint";
  const Argument* size = node->FindArg("size", absl::StartsWith(name, "new_") ? 1 : 0);
  if (has_high) {
    for (size_t i = 0; i < node->args().size(); ++i) {
      if (node->args()[i].is_sequence()) size = &node->args()[i];
    }
  }
  const std::vector<const Argument*> counts = CountsOf(*node, name);
  if ((counts.empty() && size == nullptr) || !out->is_tensor() ||
      absl::c_linear_search(counts, nullptr))
    return absl::FailedPreconditionError("has unknown sizes");
  SizeList list;
  if (!counts.empty() || size->is_sequence()) {
    list.places = counts;
    for (size_t i = 0; counts.empty() && i < size->elements().size(); ++i)
      list.places.push_back(&size->elements()[i]);
    for (const Argument* place : list.places) {
      const Size* forced = ForcedOf(node, place);
      list.numbers.push_back(forced == nullptr ? ExtentOf(*place) : Extent::Number(*forced));
    }
  } else {
    list = SizesOf(*node, absl::StartsWith(name, "new_") ? 1 : 0, "size");
  }
  if (list.numbers.size() < out->rank()) return absl::FailedPreconditionError("has unknown sizes");
  for (size_t i = 0; i < out->rank(); ++i) {
    if (!list.numbers[i].is_number()) return absl::FailedPreconditionError("has unknown sizes");
    out->dims[i] = list.numbers[i].number;
    if (!list.places.empty()) Record(node, list.places[i], out->dims[i]);
  }
  return absl::OkStatus();
}

std::vector<const Argument*> SizeFollower::CountsOf(const Node& node,
                                                    absl::string_view name) const {
  if (name == "linspace" || name == "logspace") return {node.FindArg("steps", 2)};
  if (name == "randperm") return {node.FindArg("n", 0)};
  if (absl::EndsWith(name, "_window")) return {node.FindArg("window_length", 0)};
  if (name != "eye") return {};
  // One number may be the size of both dimensions.
  const Argument* rows = node.FindArg("n", 0);
  const Argument* columns = node.FindArg("m", 1);
  const bool is_number = columns != nullptr && (columns->is_int() || columns->is_node());
  return {rows, is_number ? columns : rows};
}

absl::Status SizeFollower::FollowRange(Node* node, Extent* out) {
  const bool has_start = node->args().size() > 1 || node->kwarg("start") != nullptr;
  const Argument* start = has_start ? node->FindArg("start", 0) : nullptr;
  const Argument* end = has_start ? node->FindArg("end", 1) : node->FindArg("end", 0);
  const Argument* step = node->FindArg("step", 2);
  const auto number = [&](const Argument* a, int64_t otherwise) -> std::optional<Size> {
    if (a == nullptr || a->is_none()) return Size(otherwise);
    if (const Size* forced = ForcedOf(node, a)) return *forced;
    const Extent of = ExtentOf(*a);
    if (of.is_number()) return of.number;
    return std::nullopt;
  };
  const auto from = number(start, 0), to = number(end, 0), by = number(step, 1);
  if (!from || !to || !by || by->varies() || by->base() < 1 || out->rank() != 1)
    return absl::FailedPreconditionError("counts to a number that is not known");
  const Size made = Map([&](size_t p) {
    return std::max<int64_t>(0, (to->at(p) - from->at(p) + by->base() - 1) / by->base());
  });
  if (made.base() != out->dims[0].base())
    return absl::FailedPreconditionError("counts to a number that is not known");
  Record(node, end, *to);
  out->dims[0] = made;
  return absl::OkStatus();
}

absl::Status SizeFollower::FollowRepeat(Node* node, absl::string_view name, Extent* out) {
  const Extent in = First(*node);
  const SizeList list = SizesOf(*node, 1, name == "tile" ? "dims" : "repeats");
  if (!in.is_tensor() || list.numbers.size() != out->rank() || out->rank() < in.rank())
    return FollowInferred(node, out);
  const size_t lead = out->rank() - in.rank();
  for (size_t i = 0; i < out->rank(); ++i) {
    if (!list.numbers[i].is_number()) return absl::FailedPreconditionError("has unknown sizes");
    const Size& times = list.numbers[i].number;
    out->dims[i] =
        i < lead ? times : Map([&](size_t p) { return times.at(p) * in.dims[i - lead].at(p); });
    if (!list.places.empty()) Record(node, list.places[i], times);
  }
  return absl::OkStatus();
}

absl::Status SizeFollower::FollowRepeatInterleave(Node* node, Extent* out) {
  const Extent& in = First(*node);
  const Argument* times = node->FindArg("repeats", 1);
  const auto dim = DimIn(node->FindArg("dim", 2), in.rank(), 0);
  if (times == nullptr || !times->is_int() || !dim.has_value() || in.rank() != out->rank())
    return FollowInferred(node, out);
  const Size* forced = ForcedOf(node, times);
  const Size made = forced == nullptr ? Size(times->integer()) : *forced;
  out->dims = in.dims;
  out->dims[*dim] = Map([&](size_t p) { return Times(made.at(p), in.dims[*dim].at(p)); });
  Record(node, times, made);
  return absl::OkStatus();
}

absl::Status SizeFollower::FollowFold(Node* node, Extent* out) {
  // The windows lie side by side, as many as fit.
  const Extent& in = First(*node);
  const Argument* size = node->FindArg("output_size", 1);
  const Argument* window = node->FindArg("kernel_size", 2);
  const Argument* stride = node->FindArg("stride", 5);
  const auto ints = [](const Argument* list) {
    return list != nullptr && list->is_sequence() && list->elements().size() == 2 &&
           absl::c_all_of(list->elements(), [](const Argument& n) { return n.is_int(); });
  };
  if (!ints(size) || !ints(window) || !ints(stride) || in.rank() != 3 || out->rank() != 4 ||
      !in.dims[2].varies()) {
    return FollowInferred(node, out);
  }
  const auto number = [](const Argument* list, size_t i) { return list->elements()[i].integer(); };
  const auto rows = seen_.find(number(size, 0)), columns = seen_.find(number(size, 1));
  if (rows == seen_.end() || columns == seen_.end() || in.dims[1].varies())
    return FollowInferred(node, out);
  const auto fits = [&](const Size& height, const Size& width, size_t p) {
    int64_t blocks = 1;
    for (size_t i = 0; i < 2; ++i) {
      const int64_t left = (i == 0 ? height : width).at(p) - number(window, i);
      if (left < 0 || number(stride, i) < 1) return false;
      blocks = Times(blocks, left / number(stride, i) + 1);
    }
    return blocks == in.dims[2].at(p);
  };
  for (const Size& height : rows->second) {
    for (const Size& width : columns->second) {
      bool all = true;
      for (size_t p = 0; p < points_; ++p) all &= !IsAlive(p) || fits(height, width, p);
      if (!all) continue;
      out->dims[0] = in.dims[0];
      out->dims[2] = height;
      out->dims[3] = width;
      Record(node, &size->elements()[0], height);
      Record(node, &size->elements()[1], width);
      return absl::OkStatus();
    }
  }
  return FollowInferred(node, out);
}

}  // namespace graphnet
