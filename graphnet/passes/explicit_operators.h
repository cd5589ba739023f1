// Writes out what PyTorch's operators do implicitly.
#ifndef GRAPHNET_PASSES_EXPLICIT_OPERATORS_H_
#define GRAPHNET_PASSES_EXPLICIT_OPERATORS_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Writes promotions of dtypes as casts, and `a += b` of tensors as a call of add_.
//
// Applicable in scenarios where the consumer of a graph does not promote dtypes as PyTorch does, or
// makes a new tensor for `a += b`. Paddle, for example, does not add bools to floats.
//
// When applied, this pass will look at elementwise operators. If they take tensors of different
// dtypes, .to(dtype) converts all of them to the dtype in which PyTorch computes. In an in-place
// call, that is the dtype of the tensor that is written to. Products and quotients of floats of 16
// bits and a tensor without dimensions are computed in float32, as PyTorch does, and the result is
// cast. operator.iadd and its like on a tensor become the method of Tensor that they call.
//
// Performance impact: O(nodes). The numbers stay the same, since PyTorch casts, too.
//
// Risks and limitations: dtypes come from metas and rules, not from a run. Where they are unknown,
// the call stays. So does a product or quotient in place of floats of 16 bits and a tensor without
// dimensions of another dtype, and so do float_power and ldexp, which do not compute in the dtype of
// their operands. What PyTorch computes is that of the CPU.
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
// Example: two widths of floats, a bool, and a product in place
//   graph @forward(%h : f16[4], %f : f32[4], %b : bool[4]) {
//     %s = torch.add(%h, %f)
//     %t = .mul_(%s, %b)
//     %u = operator.imul(%t, %f)
//     return (%u,)
//   }
//   becomes
//   graph @forward(%h : f16[4], %f : f32[4], %b : bool[4]) {
//     %to = .to(%h, torch.float32)
//     %s = torch.add(%to, %f)
//     %to_1 = .to(%b, torch.float32)
//     %t = .mul_(%s, %to_1)
//     %u = .mul_(%t, %f)
//     return (%u,)
//   }
//
// Example: a tensor of 16 bits times one without dimensions
//   graph @forward(%h : f16[4], %d : f64[]) {
//     %p = operator.mul(%h, %d)
//     %s = operator.add(%p, %d)
//     return (%s,)
//   }
//   becomes
//   graph @forward(%h : f16[4], %d : f64[]) {
//     %to = .to(%h, torch.float32)
//     %to_1 = .to(%d, torch.float32)
//     %p = operator.mul(%to, %to_1)
//     %to_2 = .to(%p, torch.float16)
//     %to_3 = .to(%d, torch.float16)
//     %s = operator.add(%to_2, %to_3)
//     return (%s,)
//   }
//
// Counter-example: a number has no dtype of its own, and that of %a is not known
//   graph @forward(%a, %w : f32[2, 3]) {
//     %x = operator.mul(%w, 2)
//     %y = operator.mul(%a, %x)
//     return (%y,)
//   }
//
// Returns whether anything changed.
absl::StatusOr<bool> ExplicitOperators(Module* module, PassRun& run);

// Adds `operand.to(dtype)` before `node`, at its place in the source, and returns it.
Argument CastBefore(Node* node, const Argument& operand, DType dtype);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_EXPLICIT_OPERATORS_H_
