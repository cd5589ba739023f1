// Converts flat vmap nesting to the higher-order call.
#ifndef GRAPHNET_PASSES_VMAP_REVERT_VMAP_H_
#define GRAPHNET_PASSES_VMAP_REVERT_VMAP_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// Folds the calls that open and close the levels of vmap into torch.vmap.
//
// Tier: core
//
// Applicable in scenarios where a tracer recorded the inside of torch.vmap: private calls that push
// and pop a level, and tensors that have another meaning between them. Compilers and passes cannot
// handle a part of such a graph.
//
// When applied, this pass will replace all calls between an increment of the nesting and its
// decrement by one torch.vmap, innermost first. Its body is a new graph: its first arguments are
// the tensors added at the level; outside values that it uses follow with in_dim None; its results
// are the tensors removed at the level, and one that was never batched there is broadcast, as the
// removal does. A node in a level that is unrelated to its batched values but used outside moves
// out, unless it would pass a write to memory that it reads. The loading of decompositions, unused
// autograd contexts and the level numbers go. The result of the call has the name, meta and place
// of the removed tensor. Unbalanced nesting, a wrong level or size, and a batched value that leaves
// its level are errors; the module is then as it was.
//
// Performance impact: O(nodes times depth of the nesting). Running takes as long as
// before.
//
// Risks and limitations: at most 63 levels, as in PyTorch. Levels in a body are counted on from
// those that are open where it is called; a body that is called with different numbers of open
// levels is refused. A level that batches nothing gets an unused operand, since torch.vmap takes
// its size from an operand.
//
// Example: two levels, a captured value and one that is not batched at the inner one
//   graph @forward(%x, %y, %c) {
//     %l = torch._functorch.predispatch.lazy_load_decompositions()
//     %i = torch._functorch.predispatch._vmap_increment_nesting(3, "error")
//     %a = torch._functorch.predispatch._add_batch_dim(%x, 0, 1)
//     %l_1 = torch._functorch.predispatch.lazy_load_decompositions()
//     %i_1 = torch._functorch.predispatch._vmap_increment_nesting(4, "error")
//     %b = torch._functorch.predispatch._add_batch_dim(%y, 1, 2)
//     %s = torch.mul(%a, %c)
//     %r = torch._functorch.predispatch._remove_batch_dim(%s, 2, 4, 0)
//     %d = torch._functorch.predispatch._vmap_decrement_nesting()
//     %q = torch._functorch.predispatch._remove_batch_dim(%r, 1, 3, 0)
//     %d_1 = torch._functorch.predispatch._vmap_decrement_nesting()
//     return (%q,)
//   }
//   becomes
//   graph @forward(%x, %y, %c) {
//     %q = torch.vmap(@vmap_body, (%x, %y, %c), in_dims = (0, None, None), out_dims = 0, randomness = "error")
//     return (%q,)
//   }
//   graph @vmap_body(%a, %y, %c) {
//     %r = torch.vmap(@vmap_body_1, (%y, %a, %c), in_dims = (1, None, None), out_dims = 0, randomness = "error")
//     return %r
//   }
//   graph @vmap_body_1(%b, %a, %c) {
//     %s = torch.mul(%a, %c)
//     return %s
//   }
//
// Example: a call in the level that belongs to no other value of it moves out
//   graph @forward(%x, %c) {
//     %l = torch._functorch.predispatch.lazy_load_decompositions()
//     %i = torch._functorch.predispatch._vmap_increment_nesting(3, "same")
//     %a = torch._functorch.predispatch._add_batch_dim(%x, 0, 1)
//     %e = torch.exp(%c)
//     %s = torch.neg(%a)
//     %q = torch._functorch.predispatch._remove_batch_dim(%s, 1, 3, 0)
//     %d = torch._functorch.predispatch._vmap_decrement_nesting()
//     return (%q, %e)
//   }
//   becomes
//   graph @forward(%x, %c) {
//     %e = torch.exp(%c)
//     %q = torch.vmap(@vmap_body, (%x,), in_dims = (0,), out_dims = 0, randomness = "same")
//     return (%q, %e)
//   }
//   graph @vmap_body(%a) {
//     %s = torch.neg(%a)
//     return %s
//   }
//
// Counter-example: the level is never closed
//   graph @forward(%x) {
//     %i = torch._C._functorch._vmap_increment_nesting(3, "error")
//     %a = torch._C._functorch._add_batch_dim(%x, 0, 1)
//     %r = torch._C._functorch._remove_batch_dim(%a, 1, 3, 0)
//     return (%r,)
//   }
//   refused: opens a vmap level that nothing closes
//
// Counter-example: it is folded already
//   graph @forward(%x) {
//     %y = torch.vmap(@body, (%x,), in_dims = (0,), out_dims = 0)
//     return (%y,)
//   }
//   graph @body(%a) {
//     %s = torch.neg(%a)
//     return %s
//   }
//
// Returns whether anything changed. InvalidArgument names the node that is wrong,
// Unimplemented the one that cannot be moved out of its level.
absl::StatusOr<bool> RevertVmap(Module* module);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_VMAP_REVERT_VMAP_H_
