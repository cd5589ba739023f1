// Replaces private PyTorch calls by public ones.
#ifndef GRAPHNET_PASSES_STABILIZE_H_
#define GRAPHNET_PASSES_STABILIZE_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Replaces calls of private PyTorch functions by equal public ones.
//
// Tier: core
//
// Applicable in scenarios where a graph was captured below the public API: dynamo records
// torch._C._nn.linear for torch.nn.functional.linear, which other converters and later versions of
// PyTorch may lack.
//
// When applied, this pass will give every private call whose operator has a public name
// (ops/callable.h) that name. The arguments stay as they are or, if the public function has other
// parameters, are mapped by name. Both forms are lowered to ATen, and the call changes only if they
// are the same operator on the same arguments. torch._C._log_api_usage_once is dropped. A change of
// the gradient mode is dropped if no call that may record gradients runs before the next change;
// otherwise it becomes torch.set_grad_enabled. Names, metas and locations stay.
//
// Options:
// - allow: names of private functions to leave, in full or their last part: linear+gelu
//
// Performance impact: O(nodes): the operators are compared once for each form of a call, not for
// each call. Running takes as long as before.
//
// Risks and limitations: only parameters and values of unknown origin are assumed to need
// gradients: if a caller passes other inputs that do, their gradients are recorded where a dropped
// call had prevented that. A graph is assumed to start with gradients enabled. Private calls
// without a public name stay (check-stable lists them).
//
// Example: the name changes, the arguments stay
//   graph @forward(%x, %w, %b) {
//     %l = torch._C._nn.linear(%x, %w, %b)
//     %g = torch._C._nn.gelu(%l, approximate = "tanh")
//     %n = torch._C._linalg.linalg_norm(%g, ord = 2, dim = -1, keepdim = True)
//     return (%n,)
//   }
//   becomes
//   graph @forward(%x, %w, %b) {
//     %l = torch.nn.functional.linear(%x, %w, %b)
//     %g = torch.nn.functional.gelu(%l, approximate = "tanh")
//     %n = torch.linalg.norm(%g, ord = 2, dim = -1, keepdim = True)
//     return (%n,)
//   }
//
// Example: what the value does not depend on goes
//   graph @forward(%x : f32[2] as torch.Tensor) {
//     %log = torch._C._log_api_usage_once("python.nn_module")
//     %off = torch._C._set_grad_enabled(False)
//     %y = torch.cos(%x)
//     %on = torch._C._set_grad_enabled(True)
//     return (%y,)
//   }
//   becomes
//   graph @forward(%x : f32[2] as torch.Tensor) {
//     %y = torch.cos(%x)
//     return (%y,)
//   }
//
// Example: a parameter would record gradients, so the mode stays
//   graph @forward(%w : f32[2] as torch.nn.parameter.Parameter) {
//     %off = torch._C._set_grad_enabled(False)
//     %y = torch.cos(%w)
//     %on = torch._C._set_grad_enabled(True)
//     return (%y,)
//   }
//   becomes
//   graph @forward(%w : f32[2] as torch.nn.parameter.Parameter) {
//     %off = torch.set_grad_enabled(False)
//     %y = torch.cos(%w)
//     %on = torch.set_grad_enabled(True)
//     return (%y,)
//   }
//
// Counter-example: nothing public is behind it, or it is allowed
//   allow=gelu
//   graph @forward(%v, %g, %x) {
//     %w = torch._weight_norm(%v, %g, 0)
//     %y = torch._C._nn.gelu(%x)
//     return (%w, %y)
//   }
//
// Returns whether anything changed. Notes say what the calls of each target became, and how many.
absl::StatusOr<bool> Stabilize(Module* module, PassRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_STABILIZE_H_
