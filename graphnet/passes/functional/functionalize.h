// Turns writes to memory into values.
#ifndef GRAPHNET_PASSES_FUNCTIONAL_FUNCTIONALIZE_H_
#define GRAPHNET_PASSES_FUNCTIONAL_FUNCTIONALIZE_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Turns every write to memory into a value.
//
// Tier: core
//
// Applicable in scenarios where a compiler, a format or a comparison needs graphs without effects:
// in-place calls, x[...] = y, relu(inplace=True) and writes through views are gone.
//
// When applied, this pass will replace each call that writes by the operator that yields the
// written value (add.Tensor for add_, found by the schemas), with a cast if operands would promote
// it. It carries values that are written through views back to the memory behind them
// (slice_scatter, select_scatter, the inverse of a transposition) and remakes the views that are
// read later. In-place changes of shape (t_, unsqueeze_) become views. Inputs and attributes that
// are written to get their last value by one copy_ at the end, so that the caller sees it, and so
// do the statistics of a batch_norm in training. A body is rewritten if all its writes can be, else
// it is left whole. Values that are not written to stay as they are; new calls are ATen overloads.
//
// Options:
// - outputs: true: what inputs and attributes become is returned behind the other outputs, in
//   their order, instead of being copied back
//
// Performance impact: O(nodes) if chains of views are short. A view that is read after each of many
// writes is remade each time; a program that would take more than 16 calls of views for each of its
// own calls, and more than 262,144, is refused. Running takes copies where memory was written to
// through views, since a scatter yields the whole tensor.
//
// Risks and limitations: some writes stay, with a note, exactly as they are, along with all values
// that may share their memory: writes through expand and the like, whose elements overlap; writes
// to a value that may or may not be a view, as reshape decides by strides, while the other side is
// read later; writes by a call that reads other parts of the same memory; changes of an input's
// shape; random numbers written to memory that may not be contiguous, as they follow the strides;
// writes by unknown calls, by bodies to their operands, and under autocast. Two inputs, or
// attributes, are assumed to share no memory. A written value may have other strides than the
// memory had. PyTorch's in-place kernels may round products and quotients of complex numbers
// differently.
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
// Returns whether anything changed. For each group of values that stays, a note says why.
absl::StatusOr<bool> Functionalize(Module* module, PassRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_FUNCTIONAL_FUNCTIONALIZE_H_
