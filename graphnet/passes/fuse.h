// Calls that make up a fused operator become a call of it.
#ifndef GRAPHNET_PASSES_FUSE_H_
#define GRAPHNET_PASSES_FUSE_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Replaces chains of calls by the fused operators that they make up.
//
// Applicable in scenarios where a backend has kernels for whole groups of operators, or to show
// what a graph consists of.
//
// When applied, this pass will replace every group of calls that ops/fused.txt declares an operator
// for by one call of that operator, larger operators first, and repeated layers by a single call.
// The spelling of a call does not matter, since all calls are compared in ATen form: a function, a
// method, an operator of Python or ATen's own name, arguments by position, by keyword or omitted,
// the terms of a sum in either order. Dropout that does nothing may stand in between. An in-place
// call on a value that has no other use counts as the ordinary call, a view as a reshape, a square
// as a power, and a part of an unbind as an element. All other calls stay as they are.
//
// Options:
// - operators: only these, as fc+skip_layernorm; all when it is not given
// - alone: these also where a single call makes them up, as fused_gemm_epilogue of a linear layer
//   without activation; none when it is not given
//
// Performance impact: O(operators * nodes). Running takes as long as before, since a call of a
// fused operator runs its parts.
//
// Risks and limitations: a group stays if one of its inner values is used elsewhere, if memory is
// written to in it, if a level of vmap or of autocast begins or ends in it, or if other random
// numbers are drawn before its own. If an operator takes matrices only (fc), the ranks of the
// inputs must be known. The result has the same bits, but may have other strides. Python knows none
// of the operators: run `expand-fused` before writing a sample folder. Layers of a transformer that
// each read sizes again stay separate calls.
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
// Example: a linear layer alone, for a backend whose kernel it is
//   alone=fused_gemm_epilogue
//   graph @forward(%x, %w, %b) {
//     %a = torch.nn.functional.linear(%x, %w, %b)
//     %y = torch.tanh(%a)
//     return (%y,)
//   }
//   becomes
//   graph @forward(%x, %w, %b) {
//     %a = fused.fused_gemm_epilogue(%x, %w, %b)
//     %y = torch.tanh(%a)
//     return (%y,)
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
