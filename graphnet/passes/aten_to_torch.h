// Converts ATen's overloads to PyTorch's Python API.
#ifndef GRAPHNET_PASSES_ATEN_TO_TORCH_H_
#define GRAPHNET_PASSES_ATEN_TO_TORCH_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Writes overloads of ATen as calls of PyTorch's public API.
//
// Applicable in scenarios where a graph of torch.export or TorchScript is to be read by
// people, or by tools that know torch.* and torch.nn.functional.*.
//
// When applied, this pass will give a call of an ATen overload the public function of
// that operator (torch, torch.nn.functional, torch.linalg, torch.fft, torch.special),
// else make it a method of its first argument, and keep the arguments. Both forms are
// lowered, and the call changes only if it is the same overload on the same arguments.
//
// Performance impact: O(nodes): two lowerings of the graph.
//
// Risks and limitations: an overload that the Python API cannot select by its arguments stays, and
// so do private operators. An in-place call stays in place. Dtypes and shapes of values are not
// considered.
//
// Example: functions and methods
//   graph @forward(%x, %w) {
//     %y = aten.linear.default(%x, %w)
//     %z = aten.view.default(%y, [-1, 2])
//     %r = aten.relu_.default(%z)
//     %s = aten.gelu.default(%r, approximate = "tanh")
//     return (%s,)
//   }
//   becomes
//   graph @forward(%x, %w) {
//     %y = torch.nn.functional.linear(%x, %w)
//     %z = .view(%y, [-1, 2])
//     %r = torch.relu_(%z)
//     %s = torch.nn.functional.gelu(%r, approximate = "tanh")
//     return (%s,)
//   }
//
// Example: overloads of torch.linalg and torch.fft change, an operator of Python stays
//   graph @forward(%x, %i) {
//     %a = aten.index_select.default(%x, 0, %i)
//     %b = aten.linalg_vector_norm.default(%a, 2, [-1], True)
//     %c = operator.getitem(%b, 0)
//     %d = aten.fft_rfft.default(%c, dim = -1)
//     return (%d,)
//   }
//   becomes
//   graph @forward(%x, %i) {
//     %a = torch.index_select(%x, 0, %i)
//     %b = torch.linalg.vector_norm(%a, 2, [-1], True)
//     %c = operator.getitem(%b, 0)
//     %d = torch.fft.rfft(%c, dim = -1)
//     return (%d,)
//   }
//
// Counter-example: the operators are private, and no public function calls them
//   graph @forward(%x) {
//     %y = aten._unsafe_view.default(%x, [-1])
//     %z = aten._softmax.default(%y, 0, False)
//     return (%z,)
//   }
//
// Returns whether anything changed.
absl::StatusOr<bool> AtenToTorch(Module* module, PassRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_ATEN_TO_TORCH_H_
