// Removes calls that return an operand unchanged.
#ifndef GRAPHNET_PASSES_REMOVE_ALIASES_H_
#define GRAPHNET_PASSES_REMOVE_ALIASES_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Removes calls whose value is another value of the graph.
//
// Applicable in scenarios where a graph was captured from a model in evaluation mode: its dropouts,
// stochastic depths and conversions to the dtype that a value already has remain as calls that do
// nothing.
//
// When applied, this pass will find every call that lowers (ops/lowering.h) to another value
// instead of an operator, or to a dropout outside of training, point its users to that value, and
// erase the call. Names, metas and locations of the other nodes stay.
//
// Performance impact: O(nodes), most of it for lowering. Running saves little, since the
// interpreter skips such calls anyway.
//
// Risks and limitations: the source location of a call goes with it, and the number of operators
// drops. An alias that PyTorch makes by an operator stays, such as detach, or contiguous on a
// contiguous tensor.
//
// Example: dropout in evaluation mode
//   graph @forward(%x) {
//     %y = torch.nn.functional.dropout(%x, 0.5, False, False)
//     %z = torch.relu(%y)
//     return (%z,)
//   }
//   becomes
//   graph @forward(%x) {
//     %z = torch.relu(%x)
//     return (%z,)
//   }
//
// Example: other kinds of dropout
//   graph @forward(%x) {
//     %a = torch.nn.functional.alpha_dropout(%x, 0.5, False)
//     %b = torch.nn.functional.dropout2d(%a, 0.5, False)
//     %c = torch.nn.functional.feature_alpha_dropout(%b, 0.1, training = False)
//     %d = torch.sigmoid(%c)
//     return (%d,)
//   }
//   becomes
//   graph @forward(%x) {
//     %d = torch.sigmoid(%x)
//     return (%d,)
//   }
//
// Counter-example: dropout in training, and an alias that is an operator
//   graph @forward(%x) {
//     %y = torch.nn.functional.dropout(%x, 0.5, True, False)
//     %z = .detach(%y)
//     return (%z,)
//   }
//
// Returns whether anything changed.
absl::StatusOr<bool> RemoveAliases(Module* module, PassRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_REMOVE_ALIASES_H_
