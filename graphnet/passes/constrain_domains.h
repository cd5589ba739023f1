// Bounds inputs to the domains of operators.
#ifndef GRAPHNET_PASSES_CONSTRAIN_DOMAINS_H_
#define GRAPHNET_PASSES_CONSTRAIN_DOMAINS_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Draws inputs from the domains of the operators that take them.
//
// Applicable in scenarios where inputs are drawn from mean and standard deviation
// instead of loaded: the square root of a negative number is nan, the logarithm of 0 an
// infinity, and a comparison of outputs that hold them says nothing.
//
// When applied, this pass will follow the operands of sqrt, rsqrt, log and its kin, acos, asin,
// acosh, atanh, logit, erfinv, ndtri, reciprocal, xlogy, entr, bernoulli, poisson, multinomial and
// binary_cross_entropy, the divisors of div and its kin, and the base of pow with an exponent that
// is not a natural number, back through views, copies, conversions and the operands of calls with
// bodies. Each input or attribute found that may be drawn outside the domain gets bounds that keep
// it inside. A normal distribution counts up to six deviations. If the end of a domain is excluded,
// as 0 is for log, the bound lies 1e-6 inside. Calls do not change. A warning names cases that no
// bound can fix, such as literal data. The pass constrain-variance handles the variances of
// normalisations.
//
// Performance impact: O(nodes), most of it for lowering.
//
// Risks and limitations: a value that is computed from an input is not followed, nor is an input
// that the graph writes to. The bounds affect how inputs are drawn, not inputs that a caller
// passes.
//
// Example: the logarithm of what may be negative
//   graph @forward(%x : f32[8] {mean = 0.5, std = 1.0}) {
//     %a = .view(%x, 2, 4)
//     %y = torch.log(%a)
//     return (%y,)
//   }
//   becomes
//   graph @forward(%x : f32[8] {mean = 0.5, std = 1.0, min = 1e-06}) {
//     %a = .view(%x, 2, 4)
//     %y = torch.log(%a)
//     return (%y,)
//   }
//
// Example: an upper bound, a divisor far from 0, and an exponent of a half
//   graph @forward(
//     %x : f32[8] {mean = 0.5, std = 1.0},
//     %d : f32[8] {mean = 9.0, std = 1.0},
//     %p : f32[8]
//   ) {
//     %a = torch.acos(%x)
//     %b = torch.div(%a, %d)
//     %c = torch.pow(%p, 0.5)
//     %e = torch.add(%b, %c)
//     return (%e,)
//   }
//   becomes
//   graph @forward(
//     %x : f32[8] {mean = 0.5, std = 1.0, max = 1},
//     %d : f32[8] {mean = 9.0, std = 1.0},
//     %p : f32[8] {min = 0}
//   ) {
//     %a = torch.acos(%x)
//     %b = torch.div(%a, %d)
//     %c = torch.pow(%p, 0.5)
//     %e = torch.add(%b, %c)
//     return (%e,)
//   }
//
// Counter-example: one input is far enough from 0, one is computed with, one is literal
//   graph @forward(%x : f32[8] {mean = 2.0, std = 1.0}, %y : f32[8], %z : f32[1] {data = [-1.0]}) {
//     %a = torch.log(%x)
//     %b = torch.add(%y, 1)
//     %c = torch.log(%b)
//     %d = torch.log(%z)
//     return (%a, %c, %d)
//   }
//
// Returns whether anything changed.
absl::StatusOr<bool> ConstrainDomains(Module* module, PassRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_CONSTRAIN_DOMAINS_H_
