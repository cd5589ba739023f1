#include "graphnet/shard/sharding_rule.h"

#include <numeric>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"

namespace graphnet::spmd {
namespace {

using Tensor = ShardingRule::Tensor;

// The axis that divides each letter.
class Axes {
 public:
  Axes(const ShardingRule& rule, const Mesh& mesh)
      : notation_(rule), mesh_(mesh), axes_(rule.letters.size(), kReplicated) {
    std::vector<bool> counts(axes_.size());
    for (const Tensor& result : rule.results) {
      for (const int letter : result.dims) {
        if (letter >= 0) counts[static_cast<size_t>(letter)] = true;
      }
    }
    for (size_t i = 0; i < axes_.size(); ++i)
      shardable_.push_back(rule.letters[i].shardable &&
                           (counts[i] || rule.letters[i].reduced.has_value()));
  }

  absl::Status Merge(absl::Span<const Tensor> tensors, absl::Span<const Sharding> shardings,
                     OnConflict on_conflict, absl::Span<const size_t> order) {
    if (tensors.size() != shardings.size())
      return absl::InvalidArgumentError(
          absl::StrCat(shardings.size(), " shardings for ", tensors.size(), " tensors"));
    for (size_t at = 0; at < tensors.size(); ++at) {
      const size_t i = order.empty() ? at : order[at];
      RETURN_IF_ERROR(CheckAxes(shardings[i], mesh_));
      if (tensors[i].dims.size() != shardings[i].dims_mapping.size())
        return absl::InvalidArgumentError(absl::StrCat("sharding ", ShardingName(shardings[i]),
                                                       " is for a tensor of ",
                                                       tensors[i].dims.size(), " dimensions"));
      for (size_t d = 0; d < tensors[i].dims.size(); ++d) {
        const int letter = tensors[i].dims[d];
        const int axis = shardings[i].dims_mapping[d];
        if (letter < 0 || axis < 0 || !MayDivide(axis, static_cast<size_t>(letter))) continue;
        int& merged = axes_[static_cast<size_t>(letter)];
        if (merged >= 0 && merged != axis && on_conflict == OnConflict::kError)
          return absl::InvalidArgumentError(
              absl::StrCat("axes ", merged, " and ", axis, " divide the same dimension"));
        if (merged < 0) merged = axis;
      }
    }
    std::vector<bool> used(mesh_.shape.size());
    for (int& axis : axes_) {
      if (axis < 0) continue;
      if (used[static_cast<size_t>(axis)])
        axis = kReplicated;
      else
        used[static_cast<size_t>(axis)] = true;
    }
    return absl::OkStatus();
  }

  std::vector<Sharding> Of(absl::Span<const Tensor> tensors) const {
    std::vector<Sharding> shardings;
    for (const Tensor& tensor : tensors) {
      Sharding& sharding = shardings.emplace_back();
      for (const int letter : tensor.dims)
        sharding.dims_mapping.push_back(letter < 0 ? kReplicated
                                                   : axes_[static_cast<size_t>(letter)]);
    }
    return shardings;
  }

  std::map<int, ReduceType> Partial() const {
    std::map<int, ReduceType> partial;
    for (size_t i = 0; i < axes_.size(); ++i) {
      if (axes_[i] >= 0 && notation_.letters[i].reduced.has_value())
        partial.emplace(axes_[i], *notation_.letters[i].reduced);
    }
    return partial;
  }

 private:
  bool MayDivide(int axis, size_t letter) const {
    return shardable_[letter] && absl::c_all_of(notation_.letters[letter].sizes, [&](int64_t size) {
             return size >= 0 && size % mesh_.size(axis) == 0;
           });
  }

  const ShardingRule& notation_;
  const Mesh& mesh_;
  std::vector<int> axes_;
  std::vector<bool> shardable_;
};

}  // namespace

int ShardingRule::NewLetter(int64_t size, bool shardable) {
  letters.push_back({.sizes = {size}, .shardable = shardable, .reduced = {}});
  return static_cast<int>(letters.size()) - 1;
}

std::vector<int> ShardingRule::NewLetters(absl::Span<const int64_t> sizes) {
  std::vector<int> made;
  for (const int64_t size : sizes) made.push_back(NewLetter(size));
  return made;
}

void ShardingRule::KeepWhole(int letter) {
  if (letter >= 0) letters[static_cast<size_t>(letter)].shardable = false;
}

DimTransform DimTransform::InputDim(size_t dim) {
  DimTransform made;
  made.kind_ = Kind::kInputDim;
  made.index_ = dim;
  return made;
}

DimTransform DimTransform::Flatten(std::vector<DimTransform> parts) {
  if (parts.empty()) return Singleton();
  DimTransform made;
  made.kind_ = Kind::kFlatten;
  made.parts_ = std::move(parts);
  return made;
}

DimTransform DimTransform::Split(DimTransform whole, std::vector<int64_t> sizes, size_t k) {
  DimTransform made;
  made.kind_ = Kind::kSplit;
  made.index_ = k;
  made.parts_.push_back(std::move(whole));
  made.sizes_ = std::move(sizes);
  return made;
}

DimTransform DimTransform::Singleton() { return {}; }

int DimTransform::Apply(absl::Span<const int> operand, ShardingRule* rule) const {
  switch (kind_) {
    case Kind::kInputDim: return operand[index_];
    case Kind::kFlatten: {
      const int first = parts_[0].Apply(operand, rule);
      for (size_t i = 1; i < parts_.size(); ++i) rule->KeepWhole(parts_[i].Apply(operand, rule));
      return first;
    }
    case Kind::kSplit: {
      const int whole = parts_[0].Apply(operand, rule);
      if (index_ > 0 || whole < 0) return kNoLetter;
      rule->letters[static_cast<size_t>(whole)].sizes.push_back(sizes_[0]);
      return whole;
    }
    case Kind::kSingleton: return kNoLetter;
  }
  return kNoLetter;
}

ShardingRule ShardingRuleOf(absl::Span<const int64_t> sizes,
                            absl::Span<const DimTransform> results) {
  ShardingRule rule;
  const std::vector<int> letters = rule.NewLetters(sizes);
  Tensor result;
  for (const DimTransform& dim : results) result.dims.push_back(dim.Apply(letters, &rule));
  rule.operands.push_back({letters});
  rule.results.push_back(std::move(result));
  return rule;
}

absl::StatusOr<Inferred> InferForward(const ShardingRule& rule, const Mesh& mesh,
                                      absl::Span<const Sharding> operands, OnConflict on_conflict,
                                      absl::Span<const size_t> order) {
  Axes axes(rule, mesh);
  RETURN_IF_ERROR(axes.Merge(rule.operands, operands, on_conflict, order));
  Inferred inferred = {axes.Of(rule.operands), axes.Of(rule.results)};
  for (Sharding& result : inferred.results) result.partial = axes.Partial();
  for (size_t i = 0; i < rule.operands.size(); ++i) {
    if (rule.operands[i].is_term) inferred.operands[i].partial = axes.Partial();
  }
  return inferred;
}

absl::StatusOr<Inferred> InferBackward(const ShardingRule& rule, const Mesh& mesh,
                                       absl::Span<const Sharding> results) {
  Axes axes(rule, mesh);
  RETURN_IF_ERROR(axes.Merge(rule.results, results, OnConflict::kError, {}));
  return Inferred{axes.Of(rule.operands), axes.Of(rule.results)};
}

}  // namespace graphnet::spmd
