// Inlines regions whose mode changes nothing.
#ifndef GRAPHNET_PASSES_INLINE_REGIONS_H_
#define GRAPHNET_PASSES_INLINE_REGIONS_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// A body that several calls share is written once for each call; larger graphs are refused.
inline constexpr size_t kMaxInlinedNodes = size_t{1} << 22;

// Inlines regions that have no effect.
//
// Applicable in scenarios where a program of torch.export holds the bodies of
// `with torch.no_grad():` or `with torch.autocast("cpu", enabled=False):`, as language models
// have them around their rotary embeddings, and what reads it knows no such calls.
//
// When applied, this pass will put the body of a region in the place of its call, and erase
// calls that only set a mode, where the mode changes no value:
// - autocast that leaves all as it is, on a device that no floating-point tensor is on, or
//   around operators that autocast computes in the dtype of their operands;
// - a mode of recording gradients, if no call of the program asks for gradients or for the mode;
// - parts that are only marked: checkpoints, wrap, invoke_subgraph.
// Bodies without callers are erased.
//
// Performance impact: O(nodes written), and one lowering of the module if there is autocast.
//
// Risks and limitations: a caller that records gradients through the program also gets those of a
// former region without gradients. The device of a value is the one in its meta; a value without a
// meta may be on any. A region that has an effect stays, and a note says why; `explicit-autocast`
// writes out the effect of autocast, if it runs before.
//
// Example: a region without gradients, in it one in which autocast is off
//   graph @forward(%x : f32[3,3], %p : f32[3,3]) {
//     %r = torch.ops.higher_order.wrap_with_set_grad_enabled(False, @rotary, %x)
//     %y = operator.getitem(%r, 0)
//     %z = torch.mul(%y, %p)
//     return (%z,)
//   }
//   graph @rotary(%a : f32[3,3]) {
//     %r = torch.ops.higher_order.wrap_with_autocast("cpu", torch.bfloat16, False, None, @angles, %a)
//     %s = operator.getitem(%r, 0)
//     %c = torch.cos(%s)
//     return (%c,)
//   }
//   graph @angles(%b : f32[3,3]) {
//     %m = torch.matmul(%b, %b)
//     return (%m,)
//   }
//   becomes
//   graph @forward(%x : f32[3,3], %p : f32[3,3]) {
//     %s = torch.matmul(%x, %x)
//     %y = torch.cos(%s)
//     %z = torch.mul(%y, %p)
//     return (%z,)
//   }
//
// Example: autocast is on, and nothing in it is computed in another dtype
//   graph @forward(%x : f32[3]) {
//     %mode = torch.amp.autocast_mode._enter_autocast("cpu", torch.bfloat16, True, None)
//     %y = torch.mul(%x, 2)
//     %off = torch.amp.autocast_mode._exit_autocast(%mode)
//     return (%y,)
//   }
//   becomes
//   graph @forward(%x : f32[3]) {
//     %y = torch.mul(%x, 2)
//     return (%y,)
//   }
//
// Counter-example: the product is computed in bfloat16
//   graph @forward(%x : f32[3,3]) {
//     %r = torch.ops.higher_order.wrap_with_autocast("cpu", torch.bfloat16, True, None, @body, %x)
//     return (%r,)
//   }
//   graph @body(%b : f32[3,3]) {
//     %m = torch.matmul(%b, %b)
//     return %m
//   }
//
// Returns whether anything changed. InvalidArgument names a call whose operands do not fit its
// body; ResourceExhausted says that a graph would get too many nodes. The module is then as it was.
absl::StatusOr<bool> InlineRegions(Module* module, PassRun& run);

// Returns whether the module holds calls that this pass handles.
bool HasRegions(const Module& module);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_INLINE_REGIONS_H_
