// Calls that make up a fused operator become a call of it.
#ifndef GRAPHNET_PASSES_FUSE_H_
#define GRAPHNET_PASSES_FUSE_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Writes chains of calls as the fused operators that they make up.
//
// Applicable in scenarios where a back end has kernels for whole groups of operators, or where
// somebody wants to see what a graph consists of.
//
// When applied, this pass will replace every group of calls that ops/fused.txt declares an operator
// for by one call of that, the larger operators first, and repeated layers by one call of all. How a
// call is written does not matter, as all are looked at as the calls of ATen that they are: a
// function, a method, an operator of Python or ATen's own name, arguments by position, by keyword or
// left out, the terms of a sum in either order. Dropout that does nothing may stand in between; what
// works in place on a value that nothing else uses counts as what does not; a view counts as a
// reshape, a square as a power, a part of an unbind as an element.
// All other calls stay as they are.
//
// Options:
// - operators: only these, as fc+skip_layernorm; all when it is not given
//
// Performance impact: O(operators * nodes). Running takes as long as before, as a call of a fused
// operator runs what it is made of.
//
// Risks and limitations: a value that is used elsewhere, too, keeps its calls, and so does a group
// in which memory is written to, in which a level of vmap or of autocast begins or ends, or random
// numbers are drawn before those of the group. What the inputs are has to be known where an operator
// is for matrices only (fc). The result is the same bits, but a value may have other strides.
// Python knows none of the operators: a sample folder is written after `expand-fused`. Layers of a
// transformer in each of which sizes are asked for anew stay calls of their own.
//
// Example: how most transformers end a layer
//   graph @forward(%x, %r, %w, %b, %scale, %bias) {
//     %y = torch._C._nn.linear(%x, %w, %b)
//     %d = torch.nn.functional.dropout(%y, 0.1, False, False)
//     %s = operator.add(%d, %r)
//     %n = torch.nn.functional.layer_norm(%s, (16,), %scale, %bias, 1e-12)
//     return (%n,)
//   }
//   becomes
//   graph @forward(%x, %r, %w, %b, %scale, %bias) {
//     %n = fused.fused_fc_elementwise_layernorm(%x, %w, %r, [16], %b, %scale, %bias, epsilon=1e-12)
//     return (%n,)
//   }
//
// Example: layers become one call, however many there are
//   graph @forward(%x, %w, %b) {
//     %a = torch.nn.functional.linear(%x, %w, %b)
//     %c = torch.relu(%a)
//     %d = torch.nn.functional.linear(%c, %w, %b)
//     %e = torch.nn.functional.relu(%d, inplace=True)
//     %f = torch.nn.functional.linear(%e, %w)
//     %g = .relu(%f)
//     return (%g,)
//   }
//   becomes
//   graph @forward(%x, %w, %b) {
//     %g = fused.fusion_repeated_fc_relu(%x, [%w, %w, %w], [%b, %b, None])
//     return (%g,)
//   }
//
// Counter-example: the sum is used elsewhere
//   graph @forward(%x, %r, %scale, %bias) {
//     %s = operator.add(%x, %r)
//     %n = torch.nn.functional.layer_norm(%s, (16,), %scale, %bias, 1e-05)
//     return (%n, %s)
//   }
//
// Returns whether anything changed. Notes say how many calls of which operators were made.
absl::StatusOr<bool> Fuse(Module* module, PassRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_FUSE_H_
