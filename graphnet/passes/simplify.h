// Removes calls that undo or repeat each other.
#ifndef GRAPHNET_PASSES_SIMPLIFY_H_
#define GRAPHNET_PASSES_SIMPLIFY_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Removes calls that undo or repeat an earlier one.
//
// Applicable in scenarios where a model was put together from parts that each convert a value to
// the form they need: contiguous twice, transposed there and back.
//
// When applied, this pass will apply the rules in simplify.cc (pattern.h): repeated contiguous,
// conversions to a dtype, relu and flatten, transposes there and back, unsqueeze and squeeze of one
// dimension. Every rule keeps all bits, and keeps which values share memory.
//
// Performance impact: O(nodes). Running saves the calls.
//
// Risks and limitations: calls must be written alike: 1 and -1 may name the same dimension, but are
// not recognised as such. Nothing changes if the value in between is used elsewhere, too.
//
// Example: two transpositions, and contiguous twice
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
// Example: conversions, a dimension that comes and goes, and flatten twice
//   graph @forward(%x) {
//     %a = .float(%x)
//     %b = .float(%a)
//     %c = .unsqueeze(%b, 0)
//     %d = .squeeze(%c, 0)
//     %e = torch.flatten(%d, 1)
//     %f = torch.flatten(%e, 1)
//     return (%f,)
//   }
//   becomes
//   graph @forward(%x) {
//     %b = .float(%x)
//     %f = torch.flatten(%b, 1)
//     return (%f,)
//   }
//
// Counter-example: the dimensions differ, and a call in between writes to memory
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
