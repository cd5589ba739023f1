// What PyTorch's operators do without saying so is written out.
#ifndef GRAPHNET_PASSES_EXPLICIT_OPERATORS_H_
#define GRAPHNET_PASSES_EXPLICIT_OPERATORS_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Writes promotions of dtypes as casts, and `a += b` of tensors as a call of add_.
//
// Applicable in scenarios where a graph goes to who does not promote as PyTorch does, or to whom
// += means another tensor: Paddle adds no bools to floats.
//
// When applied, this pass will put .to(dtype) on tensors that an operator which works element by
// element takes with one of another dtype, so that all have the dtype that PyTorch computes in;
// what the call writes to decides it where there is such. operator.iadd and its like, given a
// tensor, become the method of Tensor that they call.
//
// Performance impact: O(nodes). The same numbers: PyTorch casts, too.
//
// Risks and limitations: dtypes are taken from metas and by rules, not by running: where they are
// not known, the call stays. Where a tensor without dimensions is narrowed to the dtype of the
// others, PyTorch may have computed with the wider one.
//
// Example: a mask times weights, a sum in place
//   graph @forward(%w : f32[2, 3], %i : i64[3]) {
//     %m = operator.gt(%w, 0.5)
//     %x = operator.mul(%w, %m)
//     %y = operator.iadd(%x, %i)
//     return (%y,)
//   }
//   becomes
//   graph @forward(%w : f32[2, 3], %i : i64[3]) {
//     %m = operator.gt(%w, 0.5)
//     %to = .to(%m, torch.float32)
//     %x = operator.mul(%w, %to)
//     %to_1 = .to(%i, torch.float32)
//     %y = .add_(%x, %to_1)
//     return (%y,)
//   }
//
// Counter-example: numbers are no tensors, and nothing is known of %a
//   graph @forward(%a, %w : f32[2, 3]) {
//     %x = operator.mul(%w, 2)
//     %y = operator.mul(%a, %x)
//     return (%y,)
//   }
//
// Returns whether anything changed.
absl::StatusOr<bool> ExplicitOperators(Module* module, PassRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_EXPLICIT_OPERATORS_H_
