#include "graphnet/shard/view_rules.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/facts/shapes/result_rules.h"
#include "graphnet/shard/dim_rules.h"

namespace graphnet::spmd {
namespace {

using Result = std::optional<ShardingRule>;
using Letters = std::vector<int>;

// Rule of a permutation. `order` has the operand's dimension for each dimension of the result.
Result Reordered(const CallFacts& call, absl::Span<const size_t> order) {
  const Sizes& sizes = *SizesOf(call, size_t{0});
  std::vector<DimTransform> dims;
  for (const size_t dim : order) dims.push_back(DimTransform::InputDim(dim));
  return ShardingRuleOf(sizes, dims);
}

template <typename T>
Result IfOk(absl::StatusOr<T> rule) {
  if (!rule.ok()) return std::nullopt;
  rule->results.resize(1);
  return *std::move(rule);
}

// Returns whether a Python slice takes all of a dimension, and thus all of a part of it.
bool TakesAll(const Argument& slice, int64_t size) {
  const Argument& start = slice.elements()[0];
  const Argument& stop = slice.elements()[1];
  const Argument& step = slice.elements()[2];
  return (start.is_none() || start == Argument(0)) && (step.is_none() || step == Argument(1)) &&
         (stop.is_none() || (stop.is_int() && size >= 0 && stop.integer() >= size));
}

}  // namespace

Result Permute(const CallFacts& call) {
  const Sizes* sizes = SizesOf(call, size_t{0});
  if (sizes == nullptr) return std::nullopt;
  const auto dims = DimsOf(call.arg("dims"), call.operands[0].rank());
  if (!dims.has_value() || dims->size() != sizes->size()) return std::nullopt;
  return Reordered(call, *dims);
}

Result Transpose(const CallFacts& call) {
  const Sizes* sizes = SizesOf(call, size_t{0});
  if (sizes == nullptr) return std::nullopt;
  const int rank = call.operands[0].rank();
  std::vector<size_t> order(sizes->size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const absl::string_view name = call.schema->name;
  if (name == "t" || name == "numpy_T") {
    std::reverse(order.begin(), order.end());
    return Reordered(call, order);
  }
  int64_t first = -2;
  int64_t second = -1;
  if (call.schema->arguments.size() > 1) {  // transpose, swapaxes, swapdims
    const Argument a = call.arg(call.schema->arguments[1].name);
    const Argument b = call.arg(call.schema->arguments[2].name);
    if (!a.is_int() || !b.is_int()) return std::nullopt;
    first = a.integer();
    second = b.integer();
  }
  if (rank == 0) return Reordered(call, order);
  const auto a = NormalDims({first}, sizes->size());
  const auto b = NormalDims({second}, sizes->size());
  if (!a.ok() || !b.ok()) return std::nullopt;
  std::swap(order[(*a)[0]], order[(*b)[0]]);
  return Reordered(call, order);
}

Result MoveDim(const CallFacts& call) {
  const Sizes* sizes = SizesOf(call, size_t{0});
  if (sizes == nullptr) return std::nullopt;
  const int rank = call.operands[0].rank();
  const auto from = DimsOf(call.arg("source"), rank);
  const auto to = DimsOf(call.arg("destination"), rank);
  if (!from.has_value() || !to.has_value() || from->size() != to->size()) return std::nullopt;
  std::vector<size_t> order(sizes->size(), sizes->size());
  for (size_t i = 0; i < from->size(); ++i) order[(*to)[i]] = (*from)[i];
  size_t next = 0;
  for (size_t& dim : order) {
    if (dim < sizes->size()) continue;
    while (absl::c_linear_search(*from, next)) ++next;
    dim = next++;
  }
  return Reordered(call, order);
}

Result Reshape(const CallFacts& call) {
  const Sizes* sizes = SizesOf(call, size_t{0});
  if (sizes == nullptr || call.operands.size() != 1 || !call.result.sizes.has_value())
    return std::nullopt;
  if (call.has("dtype")) return std::nullopt;  // view.dtype
  return ReshapeRule(*sizes, *call.result.sizes);
}

Result Flatten(const CallFacts& call) {
  const Sizes* sizes = SizesOf(call, size_t{0});
  if (sizes == nullptr || !call.has("start_dim")) return std::nullopt;
  const Argument start = call.arg("start_dim");
  const Argument end = call.arg("end_dim");
  if (!start.is_int() || !end.is_int()) return std::nullopt;
  return IfOk(FlattenRule(*sizes, start.integer(), end.integer()));
}

Result Squeeze(const CallFacts& call) {
  const Sizes* sizes = SizesOf(call, size_t{0});
  if (sizes == nullptr || absl::c_any_of(*sizes, [](int64_t size) { return size < 0; }))
    return std::nullopt;
  if (!call.has("dim")) return IfOk(SqueezeRule(*sizes, {}));
  const Argument dim = call.arg("dim");
  const auto dims = dim.is_int() ? std::optional<Sizes>(Sizes{dim.integer()}) : NumbersOf(dim);
  if (!dims.has_value() || sizes->empty()) return std::nullopt;
  if (dims->empty()) return KeepDims(call, {});  // squeeze.dims without dimensions
  return IfOk(SqueezeRule(*sizes, *dims));
}

Result Unsqueeze(const CallFacts& call) {
  const Sizes* sizes = SizesOf(call, size_t{0});
  const Argument dim = call.arg("dim");
  if (sizes == nullptr || !dim.is_int()) return std::nullopt;
  return IfOk(UnsqueezeRule(*sizes, {dim.integer()}));
}

Result Expand(const CallFacts& call) {
  if (!call.result.sizes.has_value() || call.operands.size() != 1) return std::nullopt;
  return PointwiseRule(call);
}

Result Repeat(const CallFacts& call) {
  const Sizes* sizes = SizesOf(call, size_t{0});
  const auto repeats = NumbersOf(call.arg("repeats"));
  if (sizes == nullptr || !repeats.has_value() || repeats->size() < sizes->size())
    return std::nullopt;
  ShardingRule rule = StartRule(call);
  rule.operands[0].dims = rule.NewLetters(*sizes);
  const size_t added = repeats->size() - sizes->size();
  Letters result(repeats->size(), kNoLetter);
  for (size_t i = 0; i < sizes->size(); ++i) {
    if ((*repeats)[added + i] == 1) result[added + i] = rule.operands[0].dims[i];
  }
  rule.results.push_back({result});
  return rule;
}

Result Slice(const CallFacts& call) {
  const Sizes* sizes = SizesOf(call, size_t{0});
  const Argument dim = call.arg("dim");
  if (sizes == nullptr || !dim.is_int()) return std::nullopt;
  if (!call.has("step")) return IfOk(SliceRule(*sizes, {dim.integer()}));  // narrow
  const auto number = [&](absl::string_view name, int64_t otherwise) {
    const Argument value = call.arg(name);
    return value.is_int() ? value.integer() : value.is_none() ? otherwise : -1;
  };
  const SliceRange range = {number("start", 0), number("end", INT64_MAX), number("step", 1)};
  const auto sliced = DimsOf(dim, static_cast<int>(sizes->size()));
  // A slice of the whole dimension also takes all of a part.
  if (sliced.has_value() && range.start == 0 && range.step == 1 && (*sizes)[(*sliced)[0]] >= 0 &&
      range.end >= (*sizes)[(*sliced)[0]])
    return KeepDims(call, {});
  return IfOk(SliceRule(*sizes, {dim.integer()}, {}, {range}));
}

// Rule of a subscript of a tensor, such as x[0, :, 1:, None, ...].
Result Subscript(const CallFacts& call) {
  const Sizes* sizes = SizesOf(call, size_t{0});
  if (sizes == nullptr || call.operands.size() != 1 || call.node.args().size() != 2)
    return std::nullopt;
  const Argument& index = call.node.args()[1];
  const absl::Span<const Argument> elements =
      index.is_tuple() ? index.elements() : absl::MakeConstSpan(&index, 1);
  const auto taken = static_cast<size_t>(absl::c_count_if(elements, [](const Argument& a) {
    return !a.is_none() && a.kind() != Argument::Kind::kEllipsis;
  }));
  if (taken > sizes->size()) return std::nullopt;
  ShardingRule rule = StartRule(call);
  const Letters letters = rule.NewLetters(*sizes);
  rule.operands[0].dims = letters;
  Letters result;
  size_t next = 0;
  for (const Argument& element : elements) {
    if (element.is_none()) {
      result.push_back(kNoLetter);
    } else if (element.kind() == Argument::Kind::kEllipsis) {
      for (size_t i = taken; i < sizes->size(); ++i) result.push_back(letters[next++]);
    } else if (element.kind() == Argument::Kind::kSlice) {
      if (!TakesAll(element, (*sizes)[next])) rule.KeepWhole(letters[next]);
      result.push_back(letters[next++]);
    } else if (element.is_int()) {
      ++next;
    } else {
      return std::nullopt;
    }
  }
  result.insert(result.end(), letters.begin() + static_cast<ptrdiff_t>(next), letters.end());
  rule.results.push_back({result});
  return rule;
}

}  // namespace graphnet::spmd
