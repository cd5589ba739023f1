// Makes known sizes and numbers of the inputs part of the graph.
#ifndef GRAPHNET_PASSES_SPECIALIZE_H_
#define GRAPHNET_PASSES_SPECIALIZE_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Makes sizes and numbers that are known of the inputs part of the graph.
//
// Applicable in scenarios where a graph goes to a compiler that wants sizes to be known, or
// compiles better for such.
//
// When applied, this pass will write the symbols in metas as the numbers that they were in the
// example. Calls that use an input of type torch.SymInt get the number that it is drawn as. So do
// calls that use a number which .item() takes out of a small tensor that is always drawn the same.
// Such inputs stay, but nothing uses them. fold-constants computes what follows;
// generalize-dims does the opposite.
//
// Performance impact: O(nodes).
//
// Risks and limitations: the graph holds for these sizes and numbers only. Calls of size() stay,
// as fold-constants replaces them. A symbol without an example stays, too.
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
