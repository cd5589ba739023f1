// Writes out the casts that autocast makes.
#ifndef GRAPHNET_PASSES_EXPLICIT_AUTOCAST_H_
#define GRAPHNET_PASSES_EXPLICIT_AUTOCAST_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Writes the casts that autocast makes as calls of .to, and turns autocast off.
//
// Applicable in scenarios where a program computes under torch.autocast in bfloat16 or float16, and
// what reads it knows no autocast, or has other rules for it, as Paddle has.
//
// When applied, this pass will look at each call under autocast. If autocast computes its operator
// in the dtype of the region, as for products and convolutions, .to(dtype) converts its
// floating-point operands; if in float32, as for losses and, on other devices than the CPU, norms,
// .to(torch.float32) does. The regions then have "enabled" False, so that `inline-regions` can
// remove them. PyTorch's rules are in autocast.txt, which make_autocast.py measures.
//
// Performance impact: O(nodes), and one lowering of the module. The numbers stay the same, since
// autocast makes these casts, too. It keeps the cast of a weight for later calls; this pass writes
// one for each call, which `cse` merges.
//
// Risks and limitations: if one call cannot be written so, all regions stay, with a note that says
// why: an operator whose rule is not known, a call that stands for several operators, an operand
// whose dtype or device is not known, or a body that runs both under autocast and without it. The
// device of a value is the one in its meta, otherwise the only one of the inputs and attributes.
//
// Example: two products, and a sum that promotes
//   graph @forward(%x : f32[3, 3]@cpu, %b : f32[3]@cpu) {
//     %mode = torch.amp.autocast_mode._enter_autocast("cpu", torch.bfloat16, True, None)
//     %y = torch.matmul(%x, %x)
//     %z = torch.add(%y, %b)
//     %r = torch.nn.functional.linear(%z, %x, bias = %b)
//     %off = torch.amp.autocast_mode._exit_autocast(%mode)
//     return (%r,)
//   }
//   becomes
//   graph @forward(%x : f32[3, 3]@cpu, %b : f32[3]@cpu) {
//     %mode = torch.amp.autocast_mode._enter_autocast("cpu", torch.bfloat16, False, None)
//     %to = .to(%x, torch.bfloat16)
//     %y = torch.matmul(%to, %to)
//     %z = torch.add(%y, %b)
//     %to_1 = .to(%z, torch.bfloat16)
//     %to_2 = .to(%x, torch.bfloat16)
//     %to_3 = .to(%b, torch.bfloat16)
//     %r = torch.nn.functional.linear(%to_1, %to_2, bias = %to_3)
//     %off = torch.amp.autocast_mode._exit_autocast(%mode)
//     return (%r,)
//   }
//
// Example: the region of an exported program, on a GPU, where softmax is computed in float32
//   graph @forward(%x : f16[3, 3]@cuda:0) {
//     %r = torch.ops.higher_order.wrap_with_autocast("cuda", torch.float16, True, None, @body, %x)
//     %y = operator.getitem(%r, 0)
//     return (%y,)
//   }
//   graph @body(%a : f16[3, 3]@cuda:0) {
//     %s = aten.softmax.int(%a, -1)
//     return (%s,)
//   }
//   becomes
//   graph @forward(%x : f16[3, 3]@cuda:0) {
//     %r = torch.ops.higher_order.wrap_with_autocast("cuda", torch.float16, False, None, @body, %x)
//     %y = operator.getitem(%r, 0)
//     return (%y,)
//   }
//   graph @body(%a : f16[3, 3]@cuda:0) {
//     %to = .to(%a, torch.float32)
//     %s = aten.softmax.int(%to, -1)
//     return (%s,)
//   }
//
// Counter-example: nothing is known of how autocast computes this call
//   graph @forward(%x : f32[3, 3]@cpu) {
//     %mode = torch.amp.autocast_mode._enter_autocast("cpu", torch.bfloat16, True, None)
//     %y = mylib.product(%x, %x)
//     %off = torch.amp.autocast_mode._exit_autocast(%mode)
//     return (%y,)
//   }
//
// Returns whether anything changed.
absl::StatusOr<bool> ExplicitAutocast(Module* module, PassRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_EXPLICIT_AUTOCAST_H_
