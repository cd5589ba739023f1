// Makes known sizes and numbers of the inputs part of the graph.
#ifndef GRAPHNET_PASSES_SPECIALIZE_H_
#define GRAPHNET_PASSES_SPECIALIZE_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Makes known sizes and numbers of the inputs part of the graph.
//
// Applicable in scenarios where a graph goes to a compiler that needs known sizes, or compiles
// better with them.
//
// When applied, this pass will replace the symbols in metas by the numbers of the example. Uses of
// an input of type torch.SymInt get the number that it is drawn as, and so do uses of a number that
// .item() takes out of a small tensor with fixed values. Such inputs stay, but are unused.
// fold-constants computes the rest; generalize-dims does the opposite.
//
// Performance impact: O(nodes).
//
// Risks and limitations: the graph holds for these sizes and numbers only. Calls of size() stay,
// since fold-constants replaces them. A symbol without an example stays, too.
//
// Example: a batch of two
//   symbol S0 = 2
//   graph @forward(%s0 : i64[]@cpu as torch.SymInt {data = [2]}, %x : f32[S0, 4]) {
//     %y = .view(%x, %s0, 2, 2) : f32[S0, 2, 2]
//     return (%y,)
//   }
//   becomes
//   symbol S0 = 2
//   graph @forward(%s0 : i64[]@cpu as torch.SymInt {data = [2]}, %x : f32[2, 4]) {
//     %y = .view(%x, 2, 2, 2) : f32[2, 2, 2]
//     return (%y,)
//   }
//
// Example: an epsilon that is an input
//   graph @forward(%eps : f64[] {data = [0.5]}, %x : f32[4]) {
//     %e = .item(%eps)
//     %y = torch.add(%x, %e) : f32[4]
//     return (%y,)
//   }
//   becomes
//   graph @forward(%eps : f64[] {data = [0.5]}, %x : f32[4]) {
//     %y = torch.add(%x, 0.5) : f32[4]
//     return (%y,)
//   }
//
// Counter-example: the size is not known
//   symbol S0
//   graph @forward(%x : f32[S0, 4]) {
//     %y = torch.relu(%x) : f32[S0, 4]
//     return (%y,)
//   }
//
// Returns whether anything changed.
absl::StatusOr<bool> Specialize(Module* module, PassRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_SPECIALIZE_H_
