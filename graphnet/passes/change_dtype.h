// Changes the floating-point dtype of a graph.
#ifndef GRAPHNET_PASSES_CHANGE_DTYPE_H_
#define GRAPHNET_PASSES_CHANGE_DTYPE_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Changes floating-point tensors to another dtype, weights included.
//
// Tier: core
//
// Applicable in scenarios where a model that was recorded in float32 is to be run, compiled or
// measured in bfloat16 or float16, or the other way round.
//
// When applied, this pass will replace every other floating-point dtype by the given one: in metas
// of values and attributes, in dtype arguments, and in .float(), .half(), .bfloat16() and
// .double(), which become .to(dtype). Real values of a sample are converted, rounded to the nearest
// even. A call that makes floats without a dtype argument (torch.zeros(2), a quotient of integers)
// gets one, or a cast after it. Numbers beyond the range of the dtype, such as those that fill
// masks, become its largest one. Calls that PyTorch does not compute in the dtype on the CPU
// (according to its own table: cpu_dtypes.txt), and calls that take or yield complex numbers, keep
// their dtype between casts. So do single operands that must always be float32, such as the scales
// of fake_quantize_per_channel_affine; inputs and attributes that only such calls use stay as they
// are. Integers, bools and complex numbers stay. Conversions to the dtype that change nothing any more
// go, also those of a wider value that was made from one of the dtype.
//
// Options:
// - to: the new dtype: bf16, f16, f32 or f64
// - from: only these change, as f32+f16; default: all four
// - keep: norm leaves weights, biases and running statistics of norms as they are. batch_norm takes
//   them beside its input; other norms compute in the old dtype, between casts
// - module: only calls that belong to this module, or to one below it, change, as layer1+layer4.0;
//   default: all
// - nodes: only calls of these names change, as conv2d+linear_3, beside those of `module`
// - skip: modules and names of calls that keep their dtype, as lm_head+softmax
//
// Performance impact: O(nodes). The graph runs as fast as the new dtype allows.
//
// Risks and limitations: values are rounded everywhere, even where a model computes in float32 on
// purpose, as norms do; small constants may become 0 and large integers lose digits. Where neither
// metas nor the call give a dtype, the call is assumed to yield the dtype of its operands. Regions
// of autocast keep their settings. A call that keeps its dtype and writes to an operand stays, with
// a note.
//
// Example: metas, an argument, a constant that is too large, a call that keeps its dtype
//   to=f16
//   attribute w : f32[4]@cpu
//   graph @forward(%x : f32[2, 4]@cpu, %i : i64[2]@cpu) {
//     %w = get_attr w
//     %a = operator.mul(%x, %w)
//     %b = .to(%i, torch.float32)
//     %z = torch.zeros(2)
//     %m = .masked_fill(%a, %i, -3.4028234663852886e+38)
//     %f = torch.fft.rfft(%m)
//     %g = torch.fft.irfft(%f)
//     return (%b, %z, %g)
//   }
//   becomes
//   attribute w : f16[4]@cpu
//   graph @forward(%x : f16[2, 4]@cpu, %i : i64[2]@cpu) {
//     %w = get_attr w
//     %a = operator.mul(%x, %w)
//     %b = .to(%i, torch.float16)
//     %z = torch.zeros(2, dtype = torch.float16)
//     %m = .masked_fill(%a, %i, -65504.0)
//     %to = .to(%m, torch.float32)
//     %f = torch.fft.rfft(%to)
//     %g = torch.fft.irfft(%f)
//     %to_1 = .to(%g, torch.float16)
//     return (%b, %z, %to_1)
//   }
//
// Example: only bfloat16 becomes float32, and a method becomes .to
//   to=f32,from=bf16
//   attribute w : bf16[4]@cpu
//   graph @forward(%x : bf16[4]@cpu, %h : f16[4]@cpu) {
//     %w = get_attr w
//     %a = torch.mul(%x, %w)
//     %b = .bfloat16(%h)
//     %c = torch.zeros(4, dtype = torch.bfloat16)
//     %d = torch.add(%h, 1.0)
//     return (%a, %b, %c, %d)
//   }
//   becomes
//   attribute w : f32[4]@cpu
//   graph @forward(%x : f32[4]@cpu, %h : f16[4]@cpu) {
//     %w = get_attr w
//     %a = torch.mul(%x, %w)
//     %b = .to(%h, torch.float32)
//     %c = torch.zeros(4, dtype = torch.float32)
//     %d = torch.add(%h, 1.0)
//     return (%a, %b, %c, %d)
//   }
//
// Example: what a norm holds stays; a conversion to what the value is goes
//   to=bf16,keep=norm
//   graph @forward(%x : f32[2, 4]@cpu, %m : f32[4]@cpu, %v : f32[4]@cpu, %w : f32[4]@cpu) {
//     %b = torch.nn.functional.batch_norm(%x, %m, %v, %w, None, False, 0.1, 1e-05)
//     %c = .to(%b, torch.float32)
//     %r = torch.relu(%c)
//     %l = torch.nn.functional.layer_norm(%r, (4,), %w, None, 1e-05)
//     return (%l,)
//   }
//   becomes
//   graph @forward(%x : bf16[2, 4]@cpu, %m : f32[4]@cpu, %v : f32[4]@cpu, %w : f32[4]@cpu) {
//     %b = torch.nn.functional.batch_norm(%x, %m, %v, %w, None, False, 0.1, 1e-05)
//     %r = torch.relu(%b)
//     %to = .to(%r, torch.float32)
//     %l = torch.nn.functional.layer_norm(%to, (4,), %w, None, 1e-05)
//     %to_1 = .to(%l, torch.bfloat16)
//     return (%to_1,)
//   }
//
// Example: one call stays, between casts
//   to=bf16,skip=s
//   graph @forward(%x : f32[2, 4]@cpu) {
//     %a = torch.relu(%x)
//     %s = torch.softmax(%a, 1)
//     %t = torch.tanh(%s)
//     return (%t,)
//   }
//   becomes
//   graph @forward(%x : bf16[2, 4]@cpu) {
//     %a = torch.relu(%x)
//     %to = .to(%a, torch.float32)
//     %s = torch.softmax(%to, 1)
//     %to_1 = .to(%s, torch.bfloat16)
//     %t = torch.tanh(%to_1)
//     return (%t,)
//   }
//
// Counter-example: another dtype than the one meant
//   to=bf16,from=f16
//   graph @forward(%x : f32[2]@cpu, %i : i64[2]@cpu) {
//     %a = .to(%x, torch.float32)
//     return (%a, %i)
//   }
//
// Counter-example: nothing says how an integer would be rounded
//   to=i8
//   graph @forward(%x : f32[2]@cpu) {
//     return (%x,)
//   }
//   refused: to is bf16, f16, f32 or f64
//
// Returns whether anything changed.
absl::StatusOr<bool> ChangeDType(Module* module, PassRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_CHANGE_DTYPE_H_
