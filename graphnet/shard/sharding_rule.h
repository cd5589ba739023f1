// ShardingRule: an operator as einsum would write it. Each dimension of its tensors has a letter,
// and dimensions of one letter are divided alike: "mk,kn->mn" of a matmul. All rules for
// sharding say no more than this (call_rules.h); what follows from it is here.
#ifndef GRAPHNET_SHARD_SHARDING_RULE_H_
#define GRAPHNET_SHARD_SHARDING_RULE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graphnet/shard/mesh.h"
#include "graphnet/shard/sharding.h"

namespace graphnet::spmd {

inline constexpr int kNoLetter = -1;  // of a dimension that is never divided

struct ShardingRule {
  struct Letter {
    // Of the dimensions that it stands for, and of parts that a dimension is split into:
    // an axis that does not divide all of them leaves it replicated. Below 0: unknown.
    std::vector<int64_t> sizes;
    bool shardable = true;
    // It is in no result: each rank yields a part of what this reduces.
    std::optional<ReduceType> reduced;
  };
  struct Tensor {
    std::vector<int> dims;  // letters
    bool is_term = false;   // an operand that is added to the result: partial where that is
  };
  std::vector<Letter> letters;
  std::vector<Tensor> operands;
  std::vector<Tensor> results;

  int NewLetter(int64_t size, bool shardable = true);
  // A letter for each dimension.
  std::vector<int> NewLetters(absl::Span<const int64_t> sizes);
  // It stays whole from now on; nothing for kNoLetter.
  void KeepWhole(int letter);
};

// What a result dimension is made of, in terms of the dimensions of one operand.
class DimTransform {
 public:
  static DimTransform InputDim(size_t dim);
  // Several as one, row-major: the first is divided, the others stay whole. None: Singleton.
  static DimTransform Flatten(std::vector<DimTransform> parts);
  // The k-th part of one that is split into `sizes`: the first is divided if the axis divides
  // its size.
  static DimTransform Split(DimTransform whole, std::vector<int64_t> sizes, size_t k);
  static DimTransform Singleton();

  // The letter of the result dimension, given those of the operand's.
  int Apply(absl::Span<const int> operand, ShardingRule* rule) const;

 private:
  enum class Kind : uint8_t { kInputDim, kFlatten, kSplit, kSingleton };
  Kind kind_ = Kind::kSingleton;
  size_t index_ = 0;                 // the dimension, or k
  std::vector<DimTransform> parts_;  // one of a Split
  std::vector<int64_t> sizes_;
};
// Of an operator of one operand.
ShardingRule ShardingRuleOf(absl::Span<const int64_t> sizes,
                            absl::Span<const DimTransform> results);

// How the operands must be laid out, and how the results are then.
struct Inferred {
  std::vector<Sharding> operands;
  std::vector<Sharding> results;
};

// Where operands divide one letter by different axes: an error, or that of the first of
// `order` counts (indices of operands, all by default in turn).
enum class OnConflict : uint8_t { kError, kFirstCounts };

// From how the operands are laid out. A dimension that is not divided yields to one that is;
// of letters that one axis divides the first keeps it; partial states go. InvalidArgument for
// shardings of other ranks or with axes that the mesh does not have.
absl::StatusOr<Inferred> InferForward(const ShardingRule& rule, const Mesh& mesh,
                                      absl::Span<const Sharding> operands,
                                      OnConflict on_conflict = OnConflict::kError,
                                      absl::Span<const size_t> order = {});
// From how the results are to be laid out.
absl::StatusOr<Inferred> InferBackward(const ShardingRule& rule, const Mesh& mesh,
                                       absl::Span<const Sharding> results);

}  // namespace graphnet::spmd

#endif  // GRAPHNET_SHARD_SHARDING_RULE_H_
