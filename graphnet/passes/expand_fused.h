// Fused operators become the calls that they stand for.
#ifndef GRAPHNET_PASSES_EXPAND_FUSED_H_
#define GRAPHNET_PASSES_EXPAND_FUSED_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Writes out what calls of fused operators stand for.
//
// Applicable in scenarios where a consumer has no kernels for fused operators: the way back from
// `fuse`.
//
// When applied, this pass will put the calls of ATen that ops/fused.txt says in the place of each
// call of a fused operator, and leave all others as they are. What is made has the location and
// module path of the call, the last of it its name and meta.
//
// Performance impact: O(nodes). Running does the same before and after.
//
// Risks and limitations: InvalidArgument if a call is not what the operator takes: it names what is
// wrong, with a near miss.
//
// Example: linear and gelu
//   graph @forward(%x, %w, %b) {
//     %y = fused.fused_gemm_epilogue(%x, %w, %b, activation="gelu")
//     return (%y,)
//   }
//   becomes
//   graph @forward(%x, %w, %b) {
//     %y_1 = aten.linear.default(%x, %w, %b)
//     %y = aten.gelu.default(%y_1)
//     return (%y,)
//   }
//
// Counter-example: no operator that is declared
//   graph @forward(%x, %w) {
//     %y = torch.nn.functional.linear(%x, %w)
//     return (%y,)
//   }
//
// Returns whether anything changed.
absl::StatusOr<bool> ExpandFused(Module* module, PassRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_EXPAND_FUSED_H_
