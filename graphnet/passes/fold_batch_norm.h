// Batch norms that do not train become part of the calls before them.
#ifndef GRAPHNET_PASSES_FOLD_BATCH_NORM_H_
#define GRAPHNET_PASSES_FOLD_BATCH_NORM_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Folds batch norms of inference into the convolutions and linear layers before them.
//
// Applicable in scenarios where a model is prepared for inference, or where a compiler or a runtime does
// not fold batch norms itself.
//
// When applied, this pass will remove every batch norm in evaluation mode whose input comes from a
// convolution (of one to three dimensions, transposed or not, in groups or not) or from a linear layer on
// matrices, if nothing else uses that input but to read its sizes. The weight of the call before is
// multiplied by scale / sqrt(variance + eps) per output channel, and the bias takes the rest. All spellings
// of the calls are known. The new weights are computed in float64 and rounded once. If the values of all
// parameters are known and the output can hold weights, they are computed now, and NAME.weight becomes
// NAME.weight_folded. Otherwise the graph computes them in each run.
//
// Performance impact: O(nodes), and one pass over the weights. Each folded batch norm saves a call, and a
// pass over its input in memory.
//
// Risks and limitations: results differ within rounding, since products are rounded in another order;
// `diff-run` shows by how much. A batch norm stays, with a note that says why, if it trains, if its
// statistics are not read from weights or inputs, if a call writes to a parameter, if it lies in a body,
// or if its input is something else or has other uses. A program that computes gradients stays as it is.
//
// Example: a convolution without a bias
//   graph @forward(%x, %w : f32[4, 3, 1, 1], %m, %v, %g, %b) {
//     %c = torch.conv2d(%x, %w)
//     %n = torch.nn.functional.batch_norm(%c, %m, %v, %g, %b, False, 0.1, 1e-05)
//     %r = torch.relu(%n)
//     return (%r,)
//   }
//   becomes
//   graph @forward(%x, %w : f32[4, 3, 1, 1], %m, %v, %g, %b) {
//     %var = .to(%v, torch.float64)
//     %sum = torch.add(%var, 1e-05)
//     %sqrt = torch.sqrt(%sum)
//     %gain = .to(%g, torch.float64)
//     %scale = torch.div(%gain, %sqrt)
//     %wide = .to(%w, torch.float64)
//     %column = torch.reshape(%scale, [-1, 1, 1, 1])
//     %product = torch.mul(%wide, %column)
//     %weight = .to(%product, torch.float32) : f32[4, 3, 1, 1]
//     %mean = .to(%m, torch.float64)
//     %rest = torch.neg(%mean)
//     %scaled = torch.mul(%rest, %scale)
//     %shift = .to(%b, torch.float64)
//     %total = torch.add(%scaled, %shift)
//     %bias = .to(%total, torch.float32) : f32[4]
//     %c = torch.conv2d(%x, %weight, bias = %bias)
//     %r = torch.relu(%c)
//     return (%r,)
//   }
//
// Example: a linear layer with a bias
//   graph @forward(%x : f32[2, 3], %w : f32[4, 3], %a : f32[4], %m, %v) {
//     %l = torch.nn.functional.linear(%x, %w, %a)
//     %n = torch.batch_norm(%l, None, None, %m, %v, False, 0.1, 0.001, True)
//     return (%n,)
//   }
//   becomes
//   graph @forward(%x : f32[2, 3], %w : f32[4, 3], %a : f32[4], %m, %v) {
//     %var = .to(%v, torch.float64)
//     %sum = torch.add(%var, 0.001)
//     %sqrt = torch.sqrt(%sum)
//     %scale = torch.reciprocal(%sqrt)
//     %wide = .to(%w, torch.float64)
//     %column = torch.reshape(%scale, [-1, 1])
//     %product = torch.mul(%wide, %column)
//     %weight = .to(%product, torch.float32) : f32[4, 3]
//     %mean = .to(%m, torch.float64)
//     %offset = .to(%a, torch.float64)
//     %rest = torch.sub(%offset, %mean)
//     %scaled = torch.mul(%rest, %scale)
//     %bias = .to(%scaled, torch.float32) : f32[4]
//     %l = torch.nn.functional.linear(%x, %weight, %bias)
//     return (%l,)
//   }
//
// Counter-example: a batch norm that trains, and one whose input is used elsewhere
//   graph @forward(%x, %w : f32[4, 3, 1, 1], %m, %v) {
//     %c = torch.conv2d(%x, %w)
//     %n = torch.nn.functional.batch_norm(%c, %m, %v, None, None, True, 0.1, 1e-05)
//     %d = torch.conv2d(%x, %w)
//     %o = torch.nn.functional.batch_norm(%d, %m, %v, None, None, False, 0.1, 1e-05)
//     return (%n, %o, %d)
//   }
//
// Returns whether anything changed. Notes say how many were folded, and why others stay.
absl::StatusOr<bool> FoldBatchNorm(Module* module, PassRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_FOLD_BATCH_NORM_H_
