// Writes to memory become values.
#ifndef GRAPHNET_PASSES_FUNCTIONAL_FUNCTIONALIZE_H_
#define GRAPHNET_PASSES_FUNCTIONAL_FUNCTIONALIZE_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Makes every write to memory a value.
//
// Tier: core
//
// Applicable in scenarios where a compiler, a format or a comparison wants graphs without effects:
// calls in place, x[...] = y, relu(inplace=True) and writes through views are gone.
//
// When applied, this pass will put the operator that yields what was written in the place of
// each call that writes (add.Tensor for add_, found by the schemas), with a cast where operands
// would promote it, carry what is written through views back to the memory that they see
// (slice_scatter, select_scatter, the inverse of a transposition) and make the views that are read
// later anew. Changes of shape in place (t_, unsqueeze_) become views. Inputs and attributes that
// are written to get their last value by one copy_ at the end, so that the caller sees it.
// Statistics of a batch_norm in training are written so, too. Bodies are rewritten if all their
// writes can be, else left whole. What nobody writes to stays as it is written; what is made
// anew are ATen overloads.
//
// Options:
// - outputs: true: what inputs and attributes become is returned behind the other outputs, in
//   their order, instead of being copied back
//
// Performance impact: O(nodes) while views are made of few others. A view that is read after each
// of many writes is made as often; a program that would take more than 16 calls of views for each
// of its own calls, and more than 262,144, is refused. Running takes copies where memory was
// written to through views, as a scatter yields the whole tensor.
//
// Risks and limitations: what is left is told in a note and stays exactly as it is, with all that
// may share its memory: writes through expand and the like, whose elements overlap; to what may
// or may not be a view, as reshape yields by strides, while the other side is read later; where
// the call reads other parts of what it writes to; to the shape of an input; random numbers
// into what is not known to be contiguous, as they follow the strides; by calls of which nothing
// is known, by bodies to what they are given, and where autocast is on. Two inputs, or attributes,
// are taken to share no memory. A value that was written may have other strides than the memory
// had. PyTorch's kernels may round products and quotients of complex numbers otherwise in place.
//
// Example: through a view, and to an input
//   graph @forward(%x : f32[2, 4], %y : f32[2]) {
//     %a = torch.zeros(2, 4)
//     %s = .select(%a, 1, 0)
//     %c = .copy_(%s, %y)
//     %b = operator.add(%a, 1)
//     %z = .mul_(%x, 2)
//     return (%b, %s)
//   }
//   becomes
//   graph @forward(%x : f32[2, 4], %y : f32[2]) {
//     %a = torch.zeros(2, 4)
//     %c = aten.select_scatter.default(%a, %y, 1, 0)
//     %b = operator.add(%c, 1)
//     %z = aten.mul.Scalar(%x, 2) : f32[2, 4]
//     %s_1 = aten.select.int(%c, 1, 0)
//     %x_2 = aten.copy_.default(%x, %z) : f32[2, 4]
//     return (%b, %s_1)
//   }
//
// Example: a sum in place, and an assignment to a slice
//   graph @forward(%x : f32[4, 4], %y : f32[2, 4]) {
//     %a = torch.relu(%x)
//     %b = .add_(%a, 1)
//     %c = operator.setitem(%a, slice(0, 2, None), %y)
//     %d = torch.sigmoid(%a)
//     return (%d,)
//   }
//   becomes
//   graph @forward(%x : f32[4, 4], %y : f32[2, 4]) {
//     %a = torch.relu(%x)
//     %b = aten.add.Scalar(%a, 1)
//     %c_1 = aten.slice.Tensor(%b, 0, 0, 2)
//     %c_2 = aten.copy.default(%c_1, %y)
//     %c = aten.slice_scatter.default(%b, %c_2, 0, 0, 2)
//     %d = torch.sigmoid(%c)
//     return (%d,)
//   }
//
// Example: the last value of an input becomes an output
//   outputs=true
//   graph @forward(%x : f32[2, 4]) {
//     %z = .mul_(%x, 2)
//     %y = torch.neg(%x)
//     return (%y,)
//   }
//   becomes
//   graph @forward(%x : f32[2, 4]) {
//     %z = aten.mul.Scalar(%x, 2) : f32[2, 4]
//     %y = torch.neg(%z)
//     return (%y, %z)
//   }
//
// Counter-example: elements that overlap
//   graph @forward(%x : f32[2, 4]) {
//     %a = torch.zeros(2, 1)
//     %e = .expand(%a, 2, 4)
//     %c = .add_(%e, %x)
//     return (%a,)
//   }
//
// Returns whether anything changed. A note a group of values that stays says why.
absl::StatusOr<bool> Functionalize(Module* module, PassRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_FUNCTIONAL_FUNCTIONALIZE_H_
