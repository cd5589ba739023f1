// Running variances are never negative.
#ifndef GRAPHNET_PASSES_CONSTRAIN_VARIANCE_H_
#define GRAPHNET_PASSES_CONSTRAIN_VARIANCE_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Makes the variances that normalisations are given be drawn at least 0.
//
// Tier: core
//
// Applicable in scenarios where weights are drawn from mean and standard deviation
// instead of loaded: a negative variance is a square root of a negative number, and
// every value after it nan.
//
// When applied, this pass will follow the argument running_var of every operator that
// has one (batch_norm, instance_norm, …) back through views, copies, conversions and the
// operands of calls with bodies, and give each input or attribute that it ends at a lower
// bound of 0 in how it is drawn, unless it has one; of 1e-6 where eps is 0, which keeps no
// variance of 0 from being divided by. No name is looked at, so that it works on renamed graphs
// and on pieces, where the variance is an input of the piece. Calls do not change. A warning
// names what no bound can mend, such as a negative literal.
//
// Performance impact: O(nodes), most of it for lowering.
//
// Risks and limitations: a variance that is computed from another value is not followed further.
// The bounds say how inputs are drawn, and nothing about inputs that a caller gives.
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
