// Turns static sizes into symbols.
#ifndef GRAPHNET_PASSES_GENERALIZE_DIMS_H_
#define GRAPHNET_PASSES_GENERALIZE_DIMS_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Makes a size of the inputs, such as the batch, a symbol that may have any value.
//
// Applicable in scenarios where a model was recorded with one size and is to run with
// others: its view(1, 197, 768) holds for a batch of one only.
//
// When applied, this pass will follow the size through the graph, dimension by dimension, as
// `graphnet resize` does. Sizes that are written as numbers and grow with it (in view, reshape,
// expand, zeros and the like) become the .size() of an input, or are computed from it: sums,
// products, and quotients that are rounded down. Numbers that are computed from sizes are followed,
// including those that tracing puts into tensors. Constants that calls make or expand, such as the
// positions and masks of language models, grow with the values that they are joined with: the pass
// finds the place where their sizes are written. A value of size one that is joined with a growing
// one is expanded. The dimension of the inputs becomes a symbol with the size as its example, S0 or
// the next free one (an existing symbol is kept), and metas of values are written with it.
//
// Options:
// - dim: the dimension, default 0; several, as 0+2+3, become symbols at once
// - inputs: those that have it, as x+y; default: all data inputs that are not parameters
//   and have the size there that the first has
// - to: the size that inputs are drawn with from now on: generalize-dims{to=8} makes the batch 8;
//   default: the size of before; one for each dimension
//
// Performance impact: O(nodes), some times over for each symbol. Running with the old size takes as
// long as before.
//
// Risks and limitations: sizes are followed where each symbol is two and three times as large, and
// a little larger; two of these must be possible. Other sizes may not be: a side of an image may
// have to be a multiple of 32. Sizes that the program does not state, and calls that no rule knows,
// need LibTorch, which `graphnet opt` asks, and which then infers all sizes at two of them. If a
// size of one may or may not be the batch, as in view(1, 1, 64), the first one counts as the batch.
// A view that joins a size of one with others becomes a reshape, since a larger size may need a
// copy there. Other inputs whose sizes must grow, too, get the symbol, and dimensions that are
// equal and must stay so get the same one; parameters never grow. A size that is written as a
// number and affects only an output stays as it is.
//
// Example: an embedding of patches, with a token in front
//   symbol S7 = 5
//   graph @forward(%x : f32[1, 4, 6], %c : f32[1, 1, 4] as torch.nn.parameter.Parameter) {
//     %t = .transpose(%x, 1, 2) : f32[1, 6, 4]
//     %e = .expand(%c, 1, -1, -1) : f32[1, 1, 4]
//     %y = torch.cat((%e, %t), 1) : f32[1, 7, 4]
//     %v = .view(%y, 1, 7, 2, 2) : f32[1, 7, 2, 2]
//     %f = .reshape(%v, (7, 4)) : f32[7, 4]
//     return (%f,)
//   }
//   becomes
//   symbol S7 = 5
//   symbol S8 = 1
//   graph @forward(%x : f32[S8, 4, 6], %c : f32[1, 1, 4] as torch.nn.parameter.Parameter) {
//     %size = .size(%x, 0)
//     %t = .transpose(%x, 1, 2) : f32[S8, 6, 4]
//     %e = .expand(%c, %size, -1, -1) : f32[S8, 1, 4]
//     %y = torch.cat((%e, %t), 1) : f32[S8, 7, 4]
//     %v = .view(%y, %size, 7, 2, 2) : f32[S8, 7, 2, 2]
//     %mul = operator.mul(%size, 7)
//     %f = .reshape(%v, (%mul, 4)) : f32[7*S8, 4]
//     return (%f,)
//   }
//
// Example: the length of a sequence becomes a symbol, drawn as 8
//   dim=1,to=8
//   graph @forward(%x : i64[2, 4], %w : f32[10, 6] as torch.nn.parameter.Parameter) {
//     %e = torch.nn.functional.embedding(%x, %w) : f32[2, 4, 6]
//     %p = torch.arange(4) : i64[4]
//     %q = .unsqueeze(%p, 0) : i64[1, 4]
//     %s = torch.add(%x, %q) : i64[2, 4]
//     %f = .reshape(%e, 2, 24) : f32[2, 24]
//     return (%f, %s)
//   }
//   becomes
//   symbol S0 = 8
//   graph @forward(%x : i64[2, S0], %w : f32[10, 6] as torch.nn.parameter.Parameter) {
//     %size = .size(%x, 1)
//     %e = torch.nn.functional.embedding(%x, %w) : f32[2, S0, 6]
//     %p = torch.arange(%size) : i64[S0]
//     %q = .unsqueeze(%p, 0) : i64[1, S0]
//     %s = torch.add(%x, %q) : i64[2, S0]
//     %mul = operator.mul(%size, 6)
//     %f = .reshape(%e, 2, %mul) : f32[2, 6*S0]
//     return (%f, %s)
//   }
//
// Counter-example: it is general already
//   symbol S0 = 2
//   graph @forward(%x : f32[S0, 4]) {
//     %y = torch.relu(%x) : f32[S0, 4]
//     return (%y,)
//   }
//
// Counter-example: the dimension goes where it has one element, and only there
//   graph @forward(%x : f32[1, 4]) {
//     %y = .squeeze(%x, 0) : f32[4]
//     return (%y,)
//   }
//   refused: has another number of dimensions
//
// Returns whether anything changed. FailedPrecondition names the first call that prevents it; the
// module may then only be used for messages.
absl::StatusOr<bool> GeneralizeDims(Module* module, PassRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_GENERALIZE_DIMS_H_
