// Converts PyTorch's Python API to ATen.
#ifndef GRAPHNET_PASSES_TORCH_TO_ATEN_H_
#define GRAPHNET_PASSES_TORCH_TO_ATEN_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// Writes every call as the ATen overload that it runs.
//
// Tier: core
//
// Applicable in scenarios where a compiler wants the operators of torch.export
// (aten.conv2d.default) and not the API that programs are written in.
//
// When applied, this pass will replace the calls of each graph by their lowered form
// (ops/lowering.h): overloads of ATen with arguments in canonical form, Python's own operations on
// numbers and sequences, and higher-order calls. Calls that return another value unchanged are
// gone, and so are calls without a value that have no ATen operator (setting the gradient mode, log
// entries). New calls have the location and module path of the original, and the last of them its
// name and meta.
//
// Performance impact: O(nodes). Running takes as long as before, as it lowers the calls, too.
//
// Risks and limitations: an unknown call is refused, with its name. The device and dtype that
// Python would fill in are still left to the operators.
//
// Example: a function, a method and a Python operator
//   graph @forward(%x, %w) {
//     %y = torch.nn.functional.linear(%x, %w)
//     %z = .view(%y, -1, 2)
//     %a = operator.add(%z, 1)
//     return (%a,)
//   }
//   becomes
//   graph @forward(%x, %w) {
//     %y = aten.linear.default(%x, %w)
//     %z = aten.view.default(%y, [-1, 2])
//     %a = aten.add.Scalar(%z, 1)
//     return (%a,)
//   }
//
// Example: the mode of gradients goes, and an index becomes two overloads
//   graph @forward(%x : f32[3, 4]) {
//     %off = torch._C._set_grad_enabled(False)
//     %y = operator.getitem(%x, (0, slice(None, 2, None)))
//     %s = .sum(%y, dim = -1, keepdim = True)
//     %r = torch.nn.functional.relu(%s, inplace = True)
//     %on = torch._C._set_grad_enabled(True)
//     return (%r,)
//   }
//   becomes
//   graph @forward(%x : f32[3, 4]) {
//     %y = operator.getitem(%x, (0, slice(None, 2, None)))
//     %s = aten.sum.dim_IntList(%y, -1, True)
//     %r = aten.relu_.default(%s)
//     return (%r,)
//   }
//
// Counter-example: PyTorch has no such operator
//   graph @forward(%x) {
//     %y = mylib.f(%x)
//     return (%y,)
//   }
//   refused: no operator of PyTorch is called that
//
// Returns whether anything changed.
absl::StatusOr<bool> TorchToAten(Module* module);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_TORCH_TO_ATEN_H_
