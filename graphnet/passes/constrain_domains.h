// Inputs are drawn from what operators take.
#ifndef GRAPHNET_PASSES_CONSTRAIN_DOMAINS_H_
#define GRAPHNET_PASSES_CONSTRAIN_DOMAINS_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Makes inputs be drawn from the domain of the operators that take them.
//
// Applicable in scenarios where inputs are drawn from mean and standard deviation
// instead of loaded: the square root of a negative number is nan, the logarithm of 0 an
// infinity, and a comparison of outputs that hold them says nothing.
//
// When applied, this pass will follow what sqrt, rsqrt, log and its kin, acos, asin, acosh,
// atanh, logit, erfinv, ndtri, reciprocal, the divisors of div and its kin, pow with an exponent
// that is no natural number, xlogy, entr, bernoulli, poisson, multinomial and
// binary_cross_entropy are given back through views, copies, conversions and the operands of
// calls with bodies. Each input or attribute that it ends at and that may be drawn from outside
// gets bounds on how it is drawn that keep it inside. Of a normal distribution, six deviations
// count. Where the end of a domain does not belong to it, as 0 for log, the bound lies 1e-6 inside.
// Calls do not change. A warning names what no bound can mend, such as literal data. The pass
// constrain-variance takes care of the variances of normalisations.
//
// Performance impact: O(nodes), most of it for lowering.
//
// Risks and limitations: a value that is computed from an input is not followed, nor is an input
// that the graph writes to. The bounds say how inputs are drawn, and nothing about inputs that a
// caller gives.
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
