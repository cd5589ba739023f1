// Expands functions that have no ATen operator into the operators that they run.
#ifndef GRAPHNET_PASSES_EXPAND_FUNCTIONS_H_
#define GRAPHNET_PASSES_EXPAND_FUNCTIONS_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Expands functions of PyTorch whose steps depend on their arguments.
//
// Applicable in scenarios where a consumer knows ATen's operators only: compilers and other
// formats have no multi_head_attention_forward.
//
// When applied, this pass will replace torch.nn.functional.multi_head_attention_forward (in all
// forms), torch.nn.functional.interpolate and torch._weight_norm by the ATen calls that PyTorch's
// own code makes. The steps depend on numbers of dimensions, on the dtypes of masks and on which
// inputs are the same tensor. Unknown sizes are read by sym_size.
//
// Options:
// - keep_interpolate: true: interpolate and upsample stay, for a consumer that has them
// - recurrent: true: also lstm, gru, rnn_tanh and rnn_relu of tensors whose length is known, each
//   step by itself; the results differ by rounding
// - fused: true: also _native_multi_head_attention of one tensor, which PyTorch has fused for
//   inference; the results differ by rounding
//
// Performance impact: O(nodes). The same kernels run.
//
// Risks and limitations: numbers of dimensions and dtypes come from metas and rules, not from a
// run. Where they are unknown the call stays, and a note says so; `graphnet shapes` finds them.
// Attention yields the same bits. A weight norm may differ by rounding, as PyTorch has a fused
// kernel for it.
//
// Example: a norm of weights
//   graph @forward(%v : f32[4, 3, 2], %g : f32[4, 1, 1]) {
//     %w = torch._weight_norm(%v, %g, 0)
//     return (%w,)
//   }
//   becomes
//   graph @forward(%v : f32[4, 3, 2], %g : f32[4, 1, 1]) {
//     %w_1 = aten.linalg_vector_norm.default(%v, 2, [1, 2], True)
//     %w_2 = aten.div.Tensor(%g, %w_1)
//     %w = aten.mul.Tensor(%v, %w_2)
//     return (%w,)
//   }
//
// Example: two modes of interpolation
//   graph @forward(%x : f32[1, 3, 8, 8]) {
//     %a = torch.nn.functional.interpolate(%x, size = (4, 4), mode = "nearest")
//     %b = torch.nn.functional.interpolate(%a, scale_factor = 2.0, mode = "bilinear", align_corners = False)
//     return (%b,)
//   }
//   becomes
//   graph @forward(%x : f32[1, 3, 8, 8]) {
//     %a = aten.upsample_nearest2d.vec(%x, [4, 4], None)
//     %b = aten.upsample_bilinear2d.vec(%a, None, False, [2.0, 2.0])
//     return (%b,)
//   }
//
// Counter-example: the number of dimensions is not known
//   graph @forward(%v, %g) {
//     %w = torch._weight_norm(%v, %g, 0)
//     return (%w,)
//   }
//
// Counter-example: the option says that interpolation stays
//   keep_interpolate=true
//   graph @forward(%x : f32[1, 3, 8, 8]) {
//     %a = torch.nn.functional.interpolate(%x, size = (4, 4), mode = "nearest")
//     return (%a,)
//   }
//
// Returns whether anything changed. For each call that stays, a note says why.
absl::StatusOr<bool> ExpandFunctions(Module* module, PassRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_EXPAND_FUNCTIONS_H_
