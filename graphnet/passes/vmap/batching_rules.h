// Batching rules: ways to call an ATen operator on tensors that have batch dimensions in front
// of their own.
#ifndef GRAPHNET_PASSES_VMAP_BATCHING_RULES_H_
#define GRAPHNET_PASSES_VMAP_BATCHING_RULES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graphnet/ops/schema.h"

namespace graphnet {

enum class BatchingRule {
  kNone,
  kPointwise,  // tensors broadcast, dimensions lined up from the back
  kLike,       // the first tensor's shape; others say a dtype or device only
  kTrailing,   // works on the last dimensions of the first tensor; others are not batched
  kNew,        // takes dtype and device from the tensor: not batched
  kDims,       // arguments that are dimensions count the levels
  kWhole,      // a reduction without dimensions: `whole` along all of its own
  kView,       // sizes with those of the levels in front
  kExpand,
  kRepeat,
  kPermute,
  kSqueeze,    // of all dimensions of size 1
  kTranspose,  // t, numpy_T: the own dimensions in reverse
  kJoin,       // cat, stack: all tensors get the levels
  kAlong,      // gather, scatter: all tensors get the levels, of equal rank
  kIndex,
  kIndexSelect,
  kEmbedding,
  kMatmul,
  kLinear,
  kAddMatmul,  // addmm, baddbmm, addmv
  kOuter,
  kAttention,
  kEinsum,
  kConvolution,
  kImages,  // works on images or one of them: the levels become images
  kIndexPut,
  kRandom,  // draws a tensor of a size; has a rule by the level's randomness
  kSize,    // size.int: of an own dimension
};

// Returns the rule for calls of `schema`; kNone if there is none.
BatchingRule BatchingRuleOf(const Schema& schema);

// For kWhole: the overload with dimensions that does the same along all of them;
// empty if there is none. If `flatten` is set, the overload takes a single dimension, so the
// tensor is flattened first.
struct WholeReduction {
  absl::string_view target;
  bool flatten = false;
};
WholeReduction WholeReductionOf(absl::string_view name);

// Returns the operators that have the rule, sorted.
std::vector<absl::string_view> OperatorsWithBatchingRule(BatchingRule rule);
// Returns the section of docs/passes.md that lists all operators by rule.
std::string BatchingRulesSection();

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_VMAP_BATCHING_RULES_H_
