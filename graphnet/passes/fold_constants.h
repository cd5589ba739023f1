// Constant folding of numbers and shapes.
#ifndef GRAPHNET_PASSES_FOLD_CONSTANTS_H_
#define GRAPHNET_PASSES_FOLD_CONSTANTS_H_

#include <optional>

#include "absl/status/statusor.h"
#include "graphnet/base/arena.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Computes arithmetic on numbers and reads of known sizes and dtypes ahead of time.
//
// Applicable in scenarios where sizes that were symbols have become numbers, and the
// Python arithmetic on them only hides the shapes from a compiler.
//
// When applied, this pass will replace calls of Python's operators, builtins and math functions
// on constants by their value in every user, and erase them; likewise .size(), .dim(), .numel()
// and the attributes shape and ndim of tensors whose meta gives every size as a number, and
// dtype of those whose meta has one. A value that a graph returns stays computed. With
// values=true, it also runs, once, the calls of tensors that depend only on weights of the
// sample and on constants, and replaces them by weights with their values. Views stay, because
// they cost nothing.
//
// Options:
// - values: with true, also computes values of tensors; needs a sample with its weights, and
//   LibTorch
// - max_bytes: the most bytes of a value that becomes a weight; default 16777216
//
// Performance impact: O(nodes and uses). Each folded call saves one call of Python's arithmetic in
// a run. With values=true, the calls are run once, and their values are stored.
//
// Risks and limitations: with values=true a call whose dtype depends on a mode of the program, such
// as autocast, stays; so do random calls and values that are written to. If a value cannot be
// computed, all stay, with a note. Sizes are taken from metas: a graph that is run on inputs of
// other sizes gets other results. Calls that raise an error in Python, leave 64 bits, or are
// rounded by the platform (powers and logarithms of floats) stay.
//
// Example: from a known size to the shape of a view
//   graph @forward(%x : f32[4, 6]) {
//     %n = .size(%x, 1)
//     %half = operator.floordiv(%n, 2)
//     %y = .view(%x, -1, %half)
//     return (%y,)
//   }
//   becomes
//   graph @forward(%x : f32[4, 6]) {
//     %y = .view(%x, -1, 3)
//     return (%y,)
//   }
//
// Example: a dtype
//   graph @forward(%x : f32[4], %y : i64[4]) {
//     %d = builtins.getattr(%x, "dtype")
//     %z = .to(%y, %d)
//     return (%z,)
//   }
//   becomes
//   graph @forward(%x : f32[4], %y : i64[4]) {
//     %z = .to(%y, torch.float32)
//     return (%z,)
//   }
//
// Example: a number of dimensions, a shape, and a function of math
//   graph @forward(%x : f32[4, 64]) {
//     %d = .dim(%x)
//     %s = builtins.getattr(%x, "shape")
//     %n = operator.getitem(%s, 1)
//     %k = operator.mul(%n, %d)
//     %r = math.floor(8.5)
//     %e = operator.sub(%k, %r)
//     %y = torch.zeros(%e, 2)
//     return (%y,)
//   }
//   becomes
//   graph @forward(%x : f32[4, 64]) {
//     %y = torch.zeros(120, 2)
//     return (%y,)
//   }
//
// Counter-example: a symbolic size, and a division that Python refuses
//   symbol S0 = 4
//   graph @forward(%x : f32[S0, 6]) {
//     %n = .size(%x, 0)
//     %d = operator.floordiv(1, 0)
//     %y = .view(%x, %n, %d)
//     return (%y,)
//   }
//
// Returns whether anything changed.
absl::StatusOr<bool> FoldConstants(Module* module, PassRun& run);

// Returns what the call `node` reads of its first argument, a tensor with this meta: sizes, the
// rank or the dtype; nullopt if it reads something else, or the meta does not say it.
std::optional<Argument> EvaluateRead(const Node& node, const TensorMeta& meta, Arena* arena);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_FOLD_CONSTANTS_H_
