// Says of which operators random rounding moves the results (random_rounding.h), and by how much.
#ifndef GRAPHNET_INTERP_ROUNDING_RULES_H_
#define GRAPHNET_INTERP_ROUNDING_RULES_H_

#include <cstdint>

#include "ATen/core/dispatch/Dispatcher.h"
#include "ATen/core/stack.h"
#include "absl/strings/string_view.h"

namespace graphnet::interp {

// Says what an operator does with numbers.
enum class RoundingKind : uint8_t {
  // It copies, selects, draws or makes them: its results are exact.
  kExact,
  // Each element of its results was rounded once.
  kRounds,
  // The rounding of its results is relative to its first operand, not to the results, as terms of
  // both signs cancel inside it: gelu(x) is x times 1 + erf(x / sqrt(2)), which is near 0.
  kCancels,
  // It adds up terms. A partial sum may be much larger than the result.
  kAccumulates,
  // It turns numbers into whole ones: a small difference becomes a jump. The results are exact.
  kDecides,
  // It converts to another dtype, and rounds if that is narrower.
  kConverts,
};

// How the number of terms follows from the arguments.
enum class TermsOf : uint8_t {
  kOne,
  kLastDim,     // the last size of the operand: products of matrices
  kWeight,      // the elements of a filter, which is the argument behind the operand
  kDim,         // the size of the argument `dim`, or all elements if there is none
  kNormalized,  // the argument `normalized_shape`
  kGroup,       // the elements of a group of group_norm
  kBatch,       // the elements of a channel of batch_norm that computes statistics
  kKernel,      // the argument `kernel_size`
  kOutputSize,  // the elements of the operand for each of `output_size`
  kAttention,   // keys
  kSequence,    // the steps and features of a recurrent layer
  kFew,         // a transform, an interpolation: a tree of a few levels
};

struct RoundingRule {
  RoundingKind kind = RoundingKind::kRounds;
  TermsOf terms = TermsOf::kOne;
  uint8_t operand = 0;  // the argument that holds the terms
};

// Returns the rule of an operator by its name without namespace and overload, such as "add_". An
// operator that the table does not have rounds once.
RoundingRule RoundingRuleOf(absl::string_view name);

// Returns the number of terms that are added up for one element of the results; at least 1. `arguments`
// are those of the call, in the order of the schema.
int64_t TermsOfCall(const RoundingRule& rule, const c10::FunctionSchema& schema,
                    c10::ArrayRef<c10::IValue> arguments);

}  // namespace graphnet::interp

#endif  // GRAPHNET_INTERP_ROUNDING_RULES_H_
