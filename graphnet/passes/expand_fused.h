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
// Risks and limitations: a call that the operator does not take is refused, with its name and
// what is wrong with it. The values in between get new names, and no metas.
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
// Example: one call becomes as many layers as there are weights
//   graph @forward(%x, %v, %w, %b) {
//     %y = fused.fusion_repeated_fc_relu(%x, [%v, %w], [%b, None])
//     return (%y,)
//   }
//   becomes
//   graph @forward(%x, %v, %w, %b) {
//     %y_1 = aten.linear.default(%x, %v, %b)
//     %y_2 = aten.relu.default(%y_1)
//     %y_3 = aten.linear.default(%y_2, %w, None)
//     %y = aten.relu.default(%y_3)
//     return (%y,)
//   }
//
// Counter-example: the call is of no fused operator
//   graph @forward(%x, %w) {
//     %y = torch.nn.functional.linear(%x, %w)
//     return (%y,)
//   }
//
// Counter-example: an operand is missing
//   graph @forward(%x) {
//     %y = fused.fused_gemm_epilogue(%x)
//     return (%y,)
//   }
//   refused: y is missing
//
// Returns whether anything changed.
absl::StatusOr<bool> ExpandFused(Module* module, PassRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_EXPAND_FUSED_H_
