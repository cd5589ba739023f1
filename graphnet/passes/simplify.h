// Calls that undo or repeat each other.
#ifndef GRAPHNET_PASSES_SIMPLIFY_H_
#define GRAPHNET_PASSES_SIMPLIFY_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Removes calls that undo or repeat the one before.
//
// Applicable in scenarios where models were put together from parts that each bring a
// value in the form they like: twice contiguous, transposed there and back.
//
// When applied, this pass will apply the rules in simplify.cc (by pattern.h): repeated
// contiguous, conversions to a dtype, relu and flatten, transposes there and back,
// unsqueeze and squeeze of one dimension. Only what keeps every bit and which values
// share memory is among them.
//
// Performance impact: O(nodes). Running saves the calls.
//
// Risks and limitations: only what is written alike is recognised: 1 and -1 may be the
// same dimension and are not taken for it.
//
// Example: there and back
//   graph @forward(%x) {
//     %a = .transpose(%x, 1, 2)
//     %b = .transpose(%a, 1, 2)
//     %c = .contiguous(%b)
//     %d = .contiguous(%c)
//     return (%d,)
//   }
//   becomes
//   graph @forward(%x) {
//     %d = .contiguous(%x)
//     return (%d,)
//   }
//
// Counter-example: other dimensions, and a write to memory in between
//   graph @forward(%x) {
//     %a = .transpose(%x, 1, 2)
//     %b = .transpose(%a, 0, 1)
//     %c = torch.relu(%b)
//     %d = .mul_(%x, 2)
//     %e = torch.relu(%c)
//     return (%e, %d)
//   }
//
// Returns whether anything changed.
absl::StatusOr<bool> Simplify(Module* module, PassRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_SIMPLIFY_H_
