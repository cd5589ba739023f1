// Finds the private PyTorch calls that are left.
#ifndef GRAPHNET_PASSES_CHECK_STABLE_H_
#define GRAPHNET_PASSES_CHECK_STABLE_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Fails when calls of private PyTorch functions are left.
//
// Tier: core
//
// Applicable in scenarios where a graph goes to a converter that knows the public
// API only, or a data set promises to hold nothing else.
//
// When applied, this pass will look at the target of every call, in all graphs, and
// change nothing.
//
// Options:
// - allow: names of private functions that may stay, in full or their last part: linear+gelu
// - all: also those outside torch._C, such as torch._weight_norm
//
// Performance impact: O(nodes).
//
// Risks and limitations: a public name is taken for public API without a look at PyTorch
// (verify_calls.h says whether PyTorch has it). Without all, only functions of torch._C count as
// private.
//
// Example: allow names what may stay, and nothing changes
//   allow=gelu
//   graph @forward(%x) {
//     %y = torch._C._nn.gelu(%x)
//     return (%y,)
//   }
//   becomes
//   graph @forward(%x) {
//     %y = torch._C._nn.gelu(%x)
//     return (%y,)
//   }
//
// Example: a private function outside torch._C counts only with all
//   graph @forward(%v, %g) {
//     %w = torch._weight_norm(%v, %g, 0)
//     return (%w,)
//   }
//   becomes
//   graph @forward(%v, %g) {
//     %w = torch._weight_norm(%v, %g, 0)
//     return (%w,)
//   }
//
// Counter-example: private calls are left, and are counted by target
//   graph @forward(%x, %w) {
//     %l = torch._C._nn.linear(%x, %w) at 2:5
//     %g = torch._C._nn.gelu(%l) at 3:5
//     %m = torch._C._nn.linear(%g, %w) at 4:5
//     return (%m,)
//   }
//   refused: 3 private calls: torch._C._nn.gelu 1 (%g at 3:5), torch._C._nn.linear 2 (%l at 2:5, %m at 4:5)
//
// Counter-example: the same call is refused with all
//   all=true
//   graph @forward(%v, %g) {
//     %w = torch._weight_norm(%v, %g, 0) at 2:5
//     return (%w,)
//   }
//   refused: 1 private call: torch._weight_norm 1 (%w at 2:5)
//
// Returns false, or FailedPrecondition with the calls that are left.
absl::StatusOr<bool> CheckStable(Module* module, PassRun& run);

// Whether `target` is among `names`, in full or by its last part.
bool IsNamed(absl::string_view target, absl::Span<const std::string> names);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_CHECK_STABLE_H_
