// Common subexpression elimination.
#ifndef GRAPHNET_PASSES_COMMON_SUBEXPRESSIONS_H_
#define GRAPHNET_PASSES_COMMON_SUBEXPRESSIONS_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Computes repeated calls only once.
//
// Tier: core
//
// Applicable in scenarios where several layers derive the same masks, positions or sizes.
//
// When applied, this pass will point the users of a call to an earlier call of the same target on
// the same arguments, and erase it. Both calls must be pure (facts/memory/effects.h), no call may
// write to memory that they or their operands may share, and no call in between may change a mode
// (gradients, autocast). The first call keeps its name, location and module path; if it lacks a
// meta, it takes that of the other.
//
// Performance impact: O(nodes), most of it for finding effects. Running saves the second
// computation, and the first value lives longer.
//
// Risks and limitations: calls are compared as they are written: add(a, b) differs from add(b, a),
// and a written default from an omitted one (canonical-arguments helps). Calls in different graphs
// are not compared. Two outputs may become one tensor.
//
// Example: the second mask is the first
//   graph @forward(%x, %m) {
//     %a = torch.ne(%m, 0)
//     %y = torch.mul(%x, %a)
//     %b = torch.ne(%m, 0)
//     %z = torch.mul(%y, %b)
//     return (%z,)
//   }
//   becomes
//   graph @forward(%x, %m) {
//     %a = torch.ne(%m, 0)
//     %y = torch.mul(%x, %a)
//     %z = torch.mul(%y, %a)
//     return (%z,)
//   }
//
// Example: a size that is asked for twice, and what is made from it
//   graph @forward(%x) {
//     %n = .size(%x, 0)
//     %a = torch.arange(%n)
//     %m = .size(%x, 0)
//     %b = torch.arange(%m)
//     %y = torch.add(%x, %a)
//     %z = torch.mul(%y, %b)
//     return (%z,)
//   }
//   becomes
//   graph @forward(%x) {
//     %n = .size(%x, 0)
//     %a = torch.arange(%n)
//     %y = torch.add(%x, %a)
//     %z = torch.mul(%y, %a)
//     return (%z,)
//   }
//
// Counter-example: random numbers are drawn, and one of two equal values is written to
//   graph @forward(%x) {
//     %a = torch.rand([2])
//     %b = torch.rand([2])
//     %c = torch.zeros([2])
//     %d = torch.zeros([2])
//     %e = .add_(%c, 1)
//     return (%a, %b, %d, %e)
//   }
//
// Returns whether anything changed.
absl::StatusOr<bool> EliminateCommonSubexpressions(Module* module, PassRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_COMMON_SUBEXPRESSIONS_H_
