// Weights become integers of eight or four bits with scales.
#ifndef GRAPHNET_PASSES_QUANTIZE_WEIGHTS_H_
#define GRAPHNET_PASSES_QUANTIZE_WEIGHTS_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Stores the weights of linear layers and convolutions as int8 or int4, and computes them from it.
//
// Applicable in scenarios where a model has to be small, or where the loss of accuracy of weight-only
// quantisation is to be measured before a runtime with such kernels is chosen.
//
// When applied, this pass will replace each weight by integers and scales, and multiply them before the
// call with operators that PyTorch, ONNX and compilers know. So every program that reads the result runs
// it. The rounding is symmetric: a scale is the largest magnitude of the numbers that share it, divided by
// 127 or 7, in the dtype of the weight. Those are the numbers of one output channel, or `group` neighbours
// in it. If the value of a weight is known and the output can hold weights, NAME becomes NAME_int8 or
// NAME_int4, and NAME_scale. Otherwise the graph rounds the weight in each run, which gives the same
// results. Two numbers of four bits share a byte, the earlier one in the low half; 8 stands for zero.
//
// Options:
// - bits: 8 or 4; default 8
// - group: how many neighbours share a scale, a positive number; default all of a channel, but 32 with
//   4 bits if that divides it
// - module: only weights of calls that belong to this module, or to one below it, as layers.0+lm_head;
//   default: all
// - nodes: only weights of calls of these names, as conv2d+linear_3, beside those of `module`
// - skip: modules and names of calls whose weights stay, as lm_head+conv2d
//
// Performance impact: O(numbers). The file is a quarter or an eighth as large. A run computes the weights
// anew, so it is slower unless a compiler folds that into its kernels.
//
// Risks and limitations: results differ. The notes give the error of each weight whose value is known: the
// norm of the difference divided by the norm of the weight. A weight stays, with a note, if something else
// reads or writes it, if its sizes are not known, or if a channel is no multiple of the group. Weights of
// transposed convolutions, embeddings and products of matrices stay. Inputs and results of calls stay
// floats.
//
// Example: eight bits, one scale for each output channel
//   graph @forward(%x : f32[2, 4], %w : f32[3, 4]) {
//     %y = torch.nn.functional.linear(%x, %w)
//     return (%y,)
//   }
//   becomes
//   graph @forward(%x : f32[2, 4], %w : f32[3, 4]) {
//     %w_rows = torch.reshape(%w, [3, 1, 4])
//     %w_size = torch.abs(%w_rows)
//     %w_largest = torch.amax(%w_size, -1, True)
//     %w_step = torch.div(%w_largest, 127.0)
//     %w_positive = torch.clamp(%w_step, 1.1754943508222875e-38)
//     %w_scale = .to(%w_positive, torch.float32) : f32[3, 1, 1]
//     %w_ratio = torch.div(%w_rows, %w_scale)
//     %w_rounded = torch.round(%w_ratio)
//     %w_limited = torch.clamp(%w_rounded, -127.0, 127.0)
//     %w_int8 = .to(%w_limited, torch.int8) : i8[3, 1, 4]
//     %w_numbers = .to(%w_int8, torch.float32)
//     %w_product = torch.mul(%w_numbers, %w_scale)
//     %w_dequantized = torch.reshape(%w_product, [3, 4]) : f32[3, 4]
//     %y = torch.nn.functional.linear(%x, %w_dequantized)
//     return (%y,)
//   }
//
// Example: four bits, a scale for every two numbers
//   bits=4,group=2
//   graph @forward(%x : f32[2, 4], %w : f32[3, 4]) {
//     %y = torch.nn.functional.linear(%x, %w)
//     return (%y,)
//   }
//   becomes
//   graph @forward(%x : f32[2, 4], %w : f32[3, 4]) {
//     %w_rows = torch.reshape(%w, [3, 2, 2])
//     %w_size = torch.abs(%w_rows)
//     %w_largest = torch.amax(%w_size, -1, True)
//     %w_step = torch.div(%w_largest, 7.0)
//     %w_positive = torch.clamp(%w_step, 1.1754943508222875e-38)
//     %w_scale = .to(%w_positive, torch.float32) : f32[3, 2, 1]
//     %w_ratio = torch.div(%w_rows, %w_scale)
//     %w_rounded = torch.round(%w_ratio)
//     %w_limited = torch.clamp(%w_rounded, -7.0, 7.0)
//     %w_moved = torch.add(%w_limited, 8)
//     %w_bytes = .to(%w_moved, torch.uint8)
//     %w_pairs = torch.reshape(%w_bytes, [3, 2, 2])
//     %w_first = torch.select(%w_pairs, 2, 0)
//     %w_second = torch.select(%w_pairs, 2, 1)
//     %w_shifted = torch.mul(%w_second, 16)
//     %w_int4 = torch.add(%w_first, %w_shifted) : u8[3, 2]
//     %w_floats = .to(%w_int4, torch.float32)
//     %w_part = torch.mul(%w_floats, 0.0625)
//     %w_high = torch.floor(%w_part)
//     %w_rest = torch.mul(%w_high, 16.0)
//     %w_low = torch.sub(%w_floats, %w_rest)
//     %w_both = torch.stack([%w_low, %w_high], -1)
//     %w_groups = torch.reshape(%w_both, [3, 2, 2])
//     %w_numbers = torch.sub(%w_groups, 8.0)
//     %w_product = torch.mul(%w_numbers, %w_scale)
//     %w_dequantized = torch.reshape(%w_product, [3, 4]) : f32[3, 4]
//     %y = torch.nn.functional.linear(%x, %w_dequantized)
//     return (%y,)
//   }
//
// Counter-example: another thing that reads the weight
//   graph @forward(%i : i64[2], %x : f32[2, 4], %w : f32[3, 4]) {
//     %e = torch.nn.functional.embedding(%i, %w)
//     %y = torch.nn.functional.linear(%x, %w)
//     return (%e, %y)
//   }
//
// Counter-example: another number of bits
//   bits=3
//   graph @forward(%x : f32[2, 4]) {
//     return (%x,)
//   }
//   refused: bits is 8 or 4
//
// Returns whether anything changed.
absl::StatusOr<bool> QuantizeWeights(Module* module, PassRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_QUANTIZE_WEIGHTS_H_
