// ShardingRule: an operator in the notation of einsum. Each dimension of its tensors has a letter,
// and dimensions of one letter are divided alike: a matmul is "mk,kn->mn". All sharding rules
// (call_rules.h) have this form, and the functions here infer layouts from it.
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

inline constexpr int kNoLetter = -1;  // marks a dimension that is never divided

// An operator's rule. It has no more facts than the sizes and the letters of its tensors.
struct ShardingRule {
  struct Letter {
    // Sizes of its dimensions and of the parts that a dimension is split into. An axis that does
    // not divide all of them leaves them replicated. Negative: unknown.
    std::vector<int64_t> sizes;
    bool shardable = true;
    // Set if no result has the letter: the results are then partial by this reduction.
    std::optional<ReduceType> reduced;
  };
  struct Tensor {
    std::vector<int> dims;  // letters
    bool is_term = false;   // an operand that is added to the result, and so partial where that is
  };
  std::vector<Letter> letters;
  std::vector<Tensor> operands;
  std::vector<Tensor> results;

  int NewLetter(int64_t size, bool shardable = true);
  // Makes one letter for each dimension.
  std::vector<int> NewLetters(absl::Span<const int64_t> sizes);
  // Makes a letter not shardable. Does nothing for kNoLetter.
  void KeepWhole(int letter);
};

// Describes a result dimension in terms of the dimensions of one operand.
class DimTransform {
 public:
  static DimTransform InputDim(size_t dim);
  // Several dimensions as one, row-major: the first may be divided, the others stay whole. Without
  // parts it is a Singleton.
  static DimTransform Flatten(std::vector<DimTransform> parts);
  // The k-th part of a dimension that is split into `sizes`. Only the first part is divided, and
  // only if the axis divides its size.
  static DimTransform Split(DimTransform whole, std::vector<int64_t> sizes, size_t k);
  static DimTransform Singleton();

  // Returns the letter of the result dimension, given the letters of the operand.
  int Apply(absl::Span<const int> operand, ShardingRule* rule) const;

 private:
  enum class Kind : uint8_t { kInputDim, kFlatten, kSplit, kSingleton };
  Kind kind_ = Kind::kSingleton;
  size_t index_ = 0;                 // the dimension, or k
  std::vector<DimTransform> parts_;  // a Split has one
  std::vector<int64_t> sizes_;
};
// Returns the rule of an operator with one operand.
ShardingRule ShardingRuleOf(absl::Span<const int64_t> sizes,
                            absl::Span<const DimTransform> results);

// The layouts that the operands must have, and those that the results have then.
struct Inferred {
  std::vector<Sharding> operands;
  std::vector<Sharding> results;
};

// Chooses what happens if operands divide one letter by different axes: an error, or the first of
// `order` decides (indices of operands; by default all in turn).
enum class OnConflict : uint8_t { kError, kFirstCounts };

// Infers from the layouts of the operands. If one operand divides a letter and another does not,
// the letter is divided. If one axis would divide several letters, the first keeps it. Partial
// operands are reduced. InvalidArgument for shardings with another number of dimensions or with
// axes that the mesh does not have.
absl::StatusOr<Inferred> InferForward(const ShardingRule& rule, const Mesh& mesh,
                                      absl::Span<const Sharding> operands,
                                      OnConflict on_conflict = OnConflict::kError,
                                      absl::Span<const size_t> order = {});
// Infers from the layouts that the results must have.
absl::StatusOr<Inferred> InferBackward(const ShardingRule& rule, const Mesh& mesh,
                                       absl::Span<const Sharding> results);

}  // namespace graphnet::spmd

#endif  // GRAPHNET_SHARD_SHARDING_RULE_H_
