// Converts the higher-order vmap to flat nesting.
#ifndef GRAPHNET_PASSES_VMAP_FLATTEN_VMAP_H_
#define GRAPHNET_PASSES_VMAP_FLATTEN_VMAP_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// A body that several calls share is written out once for each call; a larger total is refused.
inline constexpr size_t kMaxFlattenedNodes = size_t{1} << 24;

// Writes out every torch.vmap as the calls that open and close its level.
//
// Tier: core
//
// Applicable in scenarios where a graph must look as tracers record it, or where the consumer does
// not support higher-order calls. It is the inverse of revert-vmap.
//
// When applied, this pass will replace every call of torch.vmap by its body, level by level: the
// loading of decompositions, an increment of the nesting with the batch size (the number, if the
// meta of an operand gives it, else its size()), an added dimension for each batched operand, the
// nodes of the body, a removed dimension for each result, and a decrement. The value of a result
// whose out_dim is None is used as it is. The calls are spelled as in torch._functorch.predispatch.
// In the body of another higher-order call the levels are counted on from those that are open at
// the call. Bodies without callers are erased.
//
// Performance impact: O(nodes written). Running takes as long as before.
//
// Risks and limitations: at most 63 levels, as in PyTorch. A body that several calls
// share is copied. chunk_size, which changes no value, is lost. Operands that are
// structures of tensors and chunk_size with randomness "different" are refused.
//
// Example: a batched and a captured operand
//   graph @forward(%x : f32[3,2], %c) {
//     %q = torch.vmap(@body, (%x, %c), in_dims = (0, None), out_dims = 1, randomness = "error")
//     return (%q,)
//   }
//   graph @body(%a, %b) {
//     %s = torch.mul(%a, %b)
//     return %s
//   }
//   becomes
//   graph @forward(%x : f32[3,2], %c) {
//     %lazy_load_decompositions = torch._functorch.predispatch.lazy_load_decompositions()
//     %_vmap_increment_nesting = torch._functorch.predispatch._vmap_increment_nesting(3, "error")
//     %a = torch._functorch.predispatch._add_batch_dim(%x, 0, 1)
//     %s = torch.mul(%a, %c)
//     %q = torch._functorch.predispatch._remove_batch_dim(%s, 1, 3, 1)
//     %_vmap_decrement_nesting = torch._functorch.predispatch._vmap_decrement_nesting()
//     return (%q,)
//   }
//
// Example: the size is not known, and one of two results is not batched
//   graph @forward(%x, %c) {
//     %q = torch.vmap(@body, (%x, %c), in_dims = (0, None), out_dims = (0, None), randomness = "same")
//     return (%q,)
//   }
//   graph @body(%a, %b) {
//     %s = torch.neg(%a)
//     %t = torch.exp(%b)
//     return (%s, %t)
//   }
//   becomes
//   graph @forward(%x, %c) {
//     %lazy_load_decompositions = torch._functorch.predispatch.lazy_load_decompositions()
//     %size = .size(%x, 0)
//     %_vmap_increment_nesting = torch._functorch.predispatch._vmap_increment_nesting(%size, "same")
//     %a = torch._functorch.predispatch._add_batch_dim(%x, 0, 1)
//     %s = torch.neg(%a)
//     %t = torch.exp(%c)
//     %_remove_batch_dim = torch._functorch.predispatch._remove_batch_dim(%s, 1, %size, 0)
//     %_vmap_decrement_nesting = torch._functorch.predispatch._vmap_decrement_nesting()
//     return ((%_remove_batch_dim, %t),)
//   }
//
// Counter-example: no operand says how large the batch is
//   graph @forward(%x) {
//     %q = torch.vmap(@body, (%x,), in_dims = None)
//     return (%q,)
//   }
//   graph @body(%a) {
//     %s = torch.neg(%a)
//     return %s
//   }
//   refused: at least one operand must have a batch dimension
//
// Counter-example: there is no torch.vmap
//   graph @forward(%x) {
//     %y = torch.neg(%x)
//     return (%y,)
//   }
//
// Returns whether anything changed. InvalidArgument or Unimplemented names the call that is wrong
// or cannot be written this way; the module is then as it was.
absl::StatusOr<bool> FlattenVmap(Module* module);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_VMAP_FLATTEN_VMAP_H_
