// Keywords become positions.
#ifndef GRAPHNET_PASSES_CANONICAL_ARGUMENTS_H_
#define GRAPHNET_PASSES_CANONICAL_ARGUMENTS_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Writes arguments by position where the function takes them so.
//
// Applicable in scenarios where calls of one operator are compared, counted or matched:
// linear(input=x, weight=w, bias=b) and linear(x, w, b) are the same call.
//
// When applied, this pass will move the keyword arguments of a call that come next in
// the order of its parameters (those of PyTorch's Python function, else of its
// operator's overloads) to their position. A keyword behind a gap stays one, as do
// keyword-only parameters; defaults are neither written out nor left out.
//
// Performance impact: O(nodes).
//
// Risks and limitations: where overloads disagree about the place of a name, it stays a
// keyword. Targets that nothing resolves stay as they are.
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
// Counter-example: the arguments before are left out, or nobody knows the function
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
