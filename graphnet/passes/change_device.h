// Moves a graph to another device.
#ifndef GRAPHNET_PASSES_CHANGE_DEVICE_H_
#define GRAPHNET_PASSES_CHANGE_DEVICE_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Moves a graph to another device.
//
// Applicable in scenarios where a graph was captured on one device and is to run on
// another: most samples say cuda:0.
//
// When applied, this pass will replace every other device by the given one in metas of values and
// attributes, in device arguments, and in strings that name a device where one is expected (a
// keyword device, the first argument of .to). The methods .cuda() and .cpu() become .to(device).
// Numbers (SymInt and the like) keep their metas, as they are on no device.
//
// Options:
// - to: the new device: cpu, cuda, cuda:1
// - from: only this one changes, as cuda (of any index) or cuda:0; default: all
//
// Performance impact: O(nodes). The graph runs as fast as the new device allows.
//
// Risks and limitations: transfers to the host that the program makes on purpose disappear, unless
// from says which device is meant. A method .cuda() with an index stays. So do strings in other
// places, and operators that belong to one device and are called by name.
//
// Example: a graph for the host
//   to=cpu
//   graph @forward(%x : f32[2]@cuda:0) {
//     %a = torch.arange(2, device = device("cuda:0"))
//     %b = .to(%x, "cuda")
//     %c = .cuda(%b)
//     return (%a, %c)
//   }
//   becomes
//   graph @forward(%x : f32[2]@cpu) {
//     %a = torch.arange(2, device = device("cpu"))
//     %b = .to(%x, "cpu")
//     %c = .to(%b, device("cpu"))
//     return (%a, %c)
//   }
//
// Example: only one of two devices changes
//   to=cuda:1,from=cuda:0
//   attribute w : f32[2]@cuda:0
//   graph @forward(%x : f32[2]@cpu) {
//     %w = get_attr w
//     %a = .to(%x, device = "cuda:0")
//     %b = torch.mul(%a, %w)
//     %c = .cpu(%b)
//     return (%c,)
//   }
//   becomes
//   attribute w : f32[2]@cuda:1
//   graph @forward(%x : f32[2]@cpu) {
//     %w = get_attr w
//     %a = .to(%x, device = "cuda:1")
//     %b = torch.mul(%a, %w)
//     %c = .cpu(%b)
//     return (%c,)
//   }
//
// Counter-example: another device than the one meant
//   to=cuda:1,from=cuda:0
//   graph @forward(%x : f32[2]@cpu) {
//     %a = torch.arange(2, device = device("cpu"))
//     return (%a, %x)
//   }
//
// Counter-example: a method is given the index of the device
//   to=cpu
//   graph @forward(%x : f32[2]@cpu) {
//     %a = .cuda(%x, 0)
//     return (%a,)
//   }
//
// Returns whether anything changed.
absl::StatusOr<bool> ChangeDevice(Module* module, PassRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_CHANGE_DEVICE_H_
