// Keeps running variances from being negative.
#ifndef GRAPHNET_PASSES_CONSTRAIN_VARIANCE_H_
#define GRAPHNET_PASSES_CONSTRAIN_VARIANCE_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Bounds the variances of normalisations at 0 when they are drawn.
//
// Tier: core
//
// Applicable in scenarios where weights are drawn from mean and standard deviation instead of
// loaded: the square root of a negative variance is nan, and so is every later value.
//
// When applied, this pass will follow the argument running_var of every operator that has one
// (batch_norm, instance_norm, …) back through views, copies, conversions and the operands of calls
// with bodies. Each input or attribute found gets a lower bound of 0 in its draw spec unless it has
// a bound; if eps is 0, the bound is 1e-6, which prevents a division by 0. Names are not
// considered, so the pass works on renamed graphs and on pieces, where the variance is an input of
// the piece. Calls do not change. A warning names cases that no bound can fix, such as a negative
// literal.
//
// Performance impact: O(nodes), most of it for lowering.
//
// Risks and limitations: a variance that is computed from another value is not followed further.
// The bounds affect how inputs are drawn, not inputs that a caller passes.
//
// Example: the third argument, under any name
//   graph @forward(%x : f32[1, 2, 4], %m : f32[2], %v : f32[2] {mean = 0.9, std = 0.5}) {
//     %a = .detach(%v)
//     %y = torch.nn.functional.batch_norm(%x, %m, %a, None, None, False, 0.1, 1e-05)
//     return (%y,)
//   }
//   becomes
//   graph @forward(%x : f32[1, 2, 4], %m : f32[2], %v : f32[2] {mean = 0.9, std = 0.5, min = 0}) {
//     %a = .detach(%v)
//     %y = torch.nn.functional.batch_norm(%x, %m, %a, None, None, False, 0.1, 1e-05)
//     return (%y,)
//   }
//
// Example: the variance is an attribute, and an eps is 0
//   attribute running_var : f32[2] {mean = 0.9, std = 0.5}
//   graph @forward(%x : f32[1, 2, 4], %m : f32[2], %w : f32[2] {mean = 0.9, std = 0.5}) {
//     %v = get_attr running_var
//     %y = torch.nn.functional.instance_norm(%x, %m, %v, use_input_stats = False)
//     %z = torch.nn.functional.batch_norm(%y, %m, %w, None, None, False, 0.1, 0)
//     return (%z,)
//   }
//   becomes
//   attribute running_var : f32[2] {mean = 0.9, std = 0.5, min = 0}
//   graph @forward(
//     %x : f32[1, 2, 4],
//     %m : f32[2],
//     %w : f32[2] {mean = 0.9, std = 0.5, min = 1e-06}
//   ) {
//     %v = get_attr running_var
//     %y = torch.nn.functional.instance_norm(%x, %m, %v, use_input_stats = False)
//     %z = torch.nn.functional.batch_norm(%y, %m, %w, None, None, False, 0.1, 0)
//     return (%z,)
//   }
//
// Counter-example: the variance has a bound already, and a norm has no running statistics
//   graph @forward(
//     %x : f32[1, 2, 4],
//     %m : f32[2],
//     %v : f32[2] {mean = 0.9, std = 0.5, min = 0.1}
//   ) {
//     %y = torch.nn.functional.batch_norm(%x, %m, %v, None, None, False, 0.1, 1e-05)
//     %z = torch.nn.functional.instance_norm(%y)
//     return (%z,)
//   }
//
// Returns whether anything changed.
absl::StatusOr<bool> ConstrainVariance(Module* module, PassRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_CONSTRAIN_VARIANCE_H_
