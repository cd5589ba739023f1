#include "graphnet/shard/dim_rules.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"

namespace graphnet::spmd {
namespace {

// Marks the dimensions. Negative ones count back from `end`.
absl::StatusOr<std::vector<bool>> Marked(SizeSpan dims, size_t rank, size_t end) {
  std::vector<bool> marked(rank);
  for (const int64_t dim : dims) {
    const int64_t at = dim < 0 ? dim + static_cast<int64_t>(end) : dim;
    if (at < 0 || at >= static_cast<int64_t>(rank))
      return absl::InvalidArgumentError(absl::StrCat(
          "dimension ", dim, " is out of range for a tensor of ", rank, " dimensions"));
    if (marked[static_cast<size_t>(at)])
      return absl::InvalidArgumentError(absl::StrCat("dimension ", dim, " is given twice"));
    marked[static_cast<size_t>(at)] = true;
  }
  return marked;
}

absl::StatusOr<std::vector<bool>> Marked(SizeSpan dims, size_t rank) {
  return Marked(dims, rank, rank);
}

}  // namespace

absl::StatusOr<std::vector<size_t>> NormalDims(absl::Span<const int64_t> dims, size_t rank) {
  RETURN_IF_ERROR(Marked(dims, rank).status());
  std::vector<size_t> normal;
  for (const int64_t dim : dims)
    normal.push_back(static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(rank) : dim));
  return normal;
}

absl::StatusOr<ShardingRule> SliceRule(SizeSpan sizes, SizeSpan axes, SizeSpan decrease_axes,
                                       absl::Span<const SliceRange> ranges) {
  ASSIGN_OR_RETURN(const std::vector<size_t> sliced, NormalDims(axes, sizes.size()));
  ASSIGN_OR_RETURN(const std::vector<bool> gone, Marked(decrease_axes, sizes.size()));
  std::vector<DimTransform> dims;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!gone[i]) dims.push_back(DimTransform::InputDim(i));
  }
  ShardingRule rule = ShardingRuleOf(sizes, dims);
  if (sliced.size() == 1 && ranges.size() == 1 && sliced[0] + 1 == sizes.size()) {
    const auto& [start, end, step] = ranges[0];
    if (step > 1 && start == 0 && end >= sizes.back() && sizes.back() % step == 0) {
      // n divides size / step if and only if step divides size / n, if both quotients are integers.
      rule.letters[sliced[0]].sizes.push_back(sizes.back() / step);
      return rule;
    }
  }
  for (const size_t axis : sliced) rule.KeepWhole(rule.operands[0].dims[axis]);
  return rule;
}

absl::StatusOr<ShardingRule> FlattenRule(SizeSpan sizes, int64_t start, int64_t stop) {
  if (sizes.empty()) return ShardingRuleOf(sizes, {DimTransform::Singleton()});
  ASSIGN_OR_RETURN(const std::vector<size_t> first, NormalDims({start}, sizes.size()));
  ASSIGN_OR_RETURN(const std::vector<size_t> last, NormalDims({stop}, sizes.size()));
  if (first[0] > last[0])
    return absl::InvalidArgumentError(
        absl::StrCat("flatten from dimension ", start, " to ", stop, ", which comes before it"));
  std::vector<DimTransform> dims;
  std::vector<DimTransform> flat;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (i < first[0] || i > last[0]) {
      dims.push_back(DimTransform::InputDim(i));
      continue;
    }
    flat.push_back(DimTransform::InputDim(i));
    if (i == last[0]) dims.push_back(DimTransform::Flatten(flat));
  }
  return ShardingRuleOf(sizes, dims);
}

absl::StatusOr<ShardingRule> SqueezeRule(SizeSpan sizes, SizeSpan axes) {
  ASSIGN_OR_RETURN(const std::vector<bool> listed, Marked(axes, sizes.size()));
  std::vector<DimTransform> dims;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 1 && (axes.empty() || listed[i])) continue;
    dims.push_back(sizes[i] == 1 ? DimTransform::Singleton() : DimTransform::InputDim(i));
  }
  ShardingRule rule = ShardingRuleOf(sizes, dims);
  ShardingRule::Tensor xshape = {{kNoLetter}};
  for (size_t i = 0; i < sizes.size(); ++i) {
    int& letter = rule.operands[0].dims[i];
    if (sizes[i] == 1) letter = kNoLetter;
    xshape.dims.push_back(letter);
  }
  rule.results.push_back(std::move(xshape));
  return rule;
}

absl::StatusOr<ShardingRule> UnsqueezeRule(SizeSpan sizes, SizeSpan axes) {
  const size_t rank = sizes.size() + axes.size();
  ASSIGN_OR_RETURN(const std::vector<bool> added, Marked(axes, rank, sizes.size() + 1));
  std::vector<DimTransform> dims;
  size_t next = 0;
  for (size_t i = 0; i < rank; ++i) {
    if (added[i] || sizes[next] == 1) {
      dims.push_back(DimTransform::Singleton());
    } else {
      dims.push_back(DimTransform::InputDim(next));
    }
    if (!added[i]) ++next;
  }
  return ShardingRuleOf(sizes, dims);
}

ShardingRule ReshapeRule(SizeSpan from, SizeSpan to) {
  const auto is_none = [](int64_t size) { return size <= 0; };
  const auto nothing = [&] {
    return ShardingRuleOf(from, std::vector<DimTransform>(to.size(), DimTransform::Singleton()));
  };
  if (absl::c_any_of(from, is_none) || absl::c_any_of(to, is_none)) return nothing();
  std::vector<DimTransform> dims(to.size(), DimTransform::Singleton());
  // Finds the shortest groups of dimensions that have the same number of elements on both sides.
  size_t i = 0;
  size_t j = 0;
  while (true) {
    while (i < from.size() && from[i] == 1) ++i;
    while (j < to.size() && to[j] == 1) ++j;
    if (i == from.size() || j == to.size()) break;
    std::vector<DimTransform> flat = {DimTransform::InputDim(i)};
    std::vector<int64_t> split = {to[j]};
    std::vector<size_t> places = {j};
    int64_t before = from[i++];
    int64_t after = to[j++];
    while (before != after) {
      if (before < after && i < from.size()) {
        if (from[i] != 1) flat.push_back(DimTransform::InputDim(i));
        if (__builtin_mul_overflow(before, from[i++], &before)) return nothing();
      } else if (after < before && j < to.size()) {
        if (to[j] != 1) {
          split.push_back(to[j]);
          places.push_back(j);
        }
        if (__builtin_mul_overflow(after, to[j++], &after)) return nothing();
      } else {
        return nothing();  // numbers of elements differ
      }
    }
    const DimTransform whole = DimTransform::Flatten(std::move(flat));
    for (size_t k = 0; k < places.size(); ++k)
      dims[places[k]] = split.size() == 1 ? whole : DimTransform::Split(whole, split, k);
  }
  return ShardingRuleOf(from, dims);
}

}  // namespace graphnet::spmd
