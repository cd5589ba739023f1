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
// count. An end that is outside itself is kept away from by 1e-6. Calls do not change.
// What no bounds mend, as literal data, is told as a warning. Variances of normalisations are
// for constrain-variance.
//
// Performance impact: O(nodes), most of it for lowering.
//
// Risks and limitations: a value that is computed from an input is not followed, nor is an input
// that the graph writes to.
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
// Counter-example: far enough from 0; computed; literal
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
