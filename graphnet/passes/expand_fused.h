// Fused operators become the calls that they stand for.
#ifndef GRAPHNET_PASSES_EXPAND_FUSED_H_
#define GRAPHNET_PASSES_EXPAND_FUSED_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Expands calls of fused operators into the calls that they stand for.
//
// Applicable in scenarios where a consumer has no kernels for fused operators. It is the inverse of
// `fuse`.
//
// When applied, this pass will replace each call of a fused operator by the ATen calls that
// ops/fused.txt gives, and leave all other calls as they are. New calls have the location and
// module path of the old one, and the last of them its name and meta.
//
// Performance impact: O(nodes). The same operations run before and after.
//
// Risks and limitations: a call whose arguments do not fit the operator is refused, with its name
// and the error. Intermediate values get new names, and no metas.
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
