// Replaces vmap by plain operators on tensors with the batch dimensions in front.
#ifndef GRAPHNET_PASSES_VMAP_EXPAND_VMAP_H_
#define GRAPHNET_PASSES_VMAP_EXPAND_VMAP_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// A body that several calls share is written out once for each call; calls beyond this total stay.
inline constexpr size_t kMaxExpandedNodes = size_t{1} << 18;

// Removes torch.vmap by batching rules.
//
// Applicable in scenarios where a consumer does not support vmap: compilers, other formats, passes
// that look at shapes. Run revert-vmap first on flat nesting.
//
// When applied, this pass will replace each torch.vmap by the operators of its body, all levels at
// once. Every batched value has the dimensions of the levels in front of its own, of size 1 for a
// level that it does not depend on, so that broadcasting does the rest. Calls that depend on no
// batched value are copied unchanged; the others become ATen operators whose dimensions, sizes and
// indices count the levels. Where PyTorch promotes a tensor without dimensions differently from one
// with some, it is converted first. Random numbers are drawn once at levels with randomness "same",
// and for all elements at once at levels with "different". The table at the end of passes.md lists
// the operators that have a rule. A call of torch.vmap stays if an operator in it has no rule, if
// random numbers would be drawn in another order, if the number of dimensions of a value is unknown,
// or if it takes too many nodes written out; the calls inside it are tried on their own.
//
// Performance impact: O(nodes written). Running needs no dispatch through vmap's
// levels; the kernels are the same.
//
// Risks and limitations: sums, convolutions and matrix products may be computed in another order
// than under vmap and differ by rounding. Random numbers for a batched tensor, as dropout and
// rand_like draw them, depend on its memory, so these calls stay; so do randperm and the like with
// randomness "different". The number of dimensions comes from metas and rules, not from a run.
//
// Example: what a causal mask is made of
//   graph @forward(%q : i64[5], %k : i64[5]) {
//     %m = torch.vmap(@body, (%q, %k), in_dims = (0, None), out_dims = 0)
//     return (%m,)
//   }
//   graph @body(%a, %k) {
//     %r = torch.vmap(@inner, (%k, %a), in_dims = (0, None), out_dims = 0)
//     return %r
//   }
//   graph @inner(%b, %a) {
//     %le = torch.le(%b, %a)
//     return %le
//   }
//   becomes
//   graph @forward(%q : i64[5], %k : i64[5]) {
//     %b = aten.unsqueeze.default(%k, 0)
//     %le = aten.unsqueeze.default(%q, 1)
//     %m = aten.le.Tensor(%b, %le)
//     return (%m,)
//   }
//
// Example: a product with a captured matrix, and a sum
//   graph @forward(%x : f32[3, 4], %w : f32[4, 2]) {
//     %m = torch.vmap(@body, (%x, %w), in_dims = (0, None), out_dims = 0)
//     return (%m,)
//   }
//   graph @body(%a, %w) {
//     %p = torch.matmul(%a, %w)
//     %s = torch.sum(%p, dim = 0)
//     return %s
//   }
//   becomes
//   graph @forward(%x : f32[3, 4], %w : f32[4, 2]) {
//     %p = aten.matmul.default(%x, %w)
//     %m = aten.sum.dim_IntList(%p, [1])
//     return (%m,)
//   }
//
// Counter-example: an operator without a rule
//   graph @forward(%x : f32[3,4]) {
//     %m = torch.vmap(@body, (%x,), in_dims = (0,), out_dims = 0)
//     return (%m,)
//   }
//   graph @body(%a) {
//     %n = torch.histc(%a)
//     return %n
//   }
//
// Returns whether anything changed. A note for each reason says how many calls stay for it.
// InvalidArgument names a call that is wrong; the module is then as it was.
absl::StatusOr<bool> ExpandVmap(Module* module, PassRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_VMAP_EXPAND_VMAP_H_
