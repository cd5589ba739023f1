// Symbols become numbers.
#ifndef GRAPHNET_PASSES_STATIC_DIMS_H_
#define GRAPHNET_PASSES_STATIC_DIMS_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Makes every size that is a symbol the number that it was in the example.
//
// Applicable in scenarios where a graph goes to a compiler that wants sizes to be known, or
// compiles better for such.
//
// When applied, this pass will write sizes in metas as numbers, and give whoever uses an
// input of type torch.SymInt the number that it is drawn as. Such an input stays, unused.
// fold-constants computes what follows from it; generalize-dims does the opposite.
//
// Performance impact: O(nodes).
//
// Risks and limitations: the graph holds for these sizes only. Calls of size() stay, as
// fold-constants takes them. A size whose symbol has no example stays as it is.
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
// Counter-example: the size is not known
//   symbol S0
//   graph @forward(%x : f32[S0, 4]) {
//     %y = torch.relu(%x) : f32[S0, 4]
//     return (%y,)
//   }
//
// Returns whether anything changed.
absl::StatusOr<bool> StaticDims(Module* module, PassRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_STATIC_DIMS_H_
