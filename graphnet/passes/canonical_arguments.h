// Moves keyword arguments to their positions.
#ifndef GRAPHNET_PASSES_CANONICAL_ARGUMENTS_H_
#define GRAPHNET_PASSES_CANONICAL_ARGUMENTS_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Writes arguments by position where the function takes them that way.
//
// Applicable in scenarios where calls of one operator are compared, counted or matched:
// linear(input=x, weight=w, bias=b) and linear(x, w, b) are the same call.
//
// When applied, this pass will move the keyword arguments of a call that come next in the order of
// its parameters (those of PyTorch's Python function, or else of its operator's overloads) to their
// position. A keyword after a gap stays a keyword, and so do keyword-only parameters. Defaults are
// neither added nor removed.
//
// Performance impact: O(nodes).
//
// Risks and limitations: where overloads disagree about the position of a name, the argument stays
// a keyword. Calls of unknown targets stay as they are. Two calls still differ if only one of them
// writes out a default.
//
// Example: keywords in any order, one of them only a keyword, one behind a gap
//   graph @forward(%x, %w, %b, %m) {
//     %y = torch.nn.functional.linear(weight = %w, input = %x, bias = %b)
//     %z = torch.nn.functional.gelu(input = %y, approximate = "tanh")
//     %s = torch.nn.functional.softmax(%z, dtype = torch.float32, dim = -1)
//     return (%s,)
//   }
//   becomes
//   graph @forward(%x, %w, %b, %m) {
//     %y = torch.nn.functional.linear(%x, %w, %b)
//     %z = torch.nn.functional.gelu(%y, approximate = "tanh")
//     %s = torch.nn.functional.softmax(%z, -1, dtype = torch.float32)
//     return (%s,)
//   }
//
// Example: a method, a parameter without a gap, and one that is only a keyword
//   graph @forward(%x, %y) {
//     %a = .transpose(%x, dim1 = 2, dim0 = 1)
//     %b = torch.clamp(%a, min = 0, max = 6)
//     %c = torch.add(%b, %y, alpha = 2)
//     return (%c,)
//   }
//   becomes
//   graph @forward(%x, %y) {
//     %a = .transpose(%x, 1, 2)
//     %b = torch.clamp(%a, 0, 6)
//     %c = torch.add(%b, %y, alpha = 2)
//     return (%c,)
//   }
//
// Counter-example: an argument before the keyword is left out, or the function is not known
//   graph @forward(%x) {
//     %y = torch.nn.functional.dropout(%x, training = False)
//     %z = mylib.f(input = %y)
//     return (%z,)
//   }
//
// Returns whether anything changed.
absl::StatusOr<bool> CanonicalizeArguments(Module* module, PassRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_CANONICAL_ARGUMENTS_H_
