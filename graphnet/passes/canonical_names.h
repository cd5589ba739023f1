// Names nodes as torch.fx does.
#ifndef GRAPHNET_PASSES_CANONICAL_NAMES_H_
#define GRAPHNET_PASSES_CANONICAL_NAMES_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// Names every call after its target and its place among the calls of that target.
//
// Applicable in scenarios where graphs are compared as text, or passes have left names that reflect
// how the nodes were made.
//
// When applied, this pass will name calls and get_attrs as torch.fx does: "linear", "linear_1",
// "linear_2" in program order, after the last part of the target, and for an overload with the
// overload ("add_tensor"). Placeholders keep their names, and a name that would collide with one
// gets the next number. Nothing else changes.
//
// Performance impact: O(nodes).
//
// Risks and limitations: callers that refer to values by name, as decompose --by-value does, must
// use the new names. Graphs of different programs may get the same names. Names no longer show
// where in the model a value comes from.
//
// Example: names after the targets
//   graph @forward(%x, %relu) {
//     %foo = .view(%x, -1)
//     %bar = torch.relu(%foo)
//     %linear_7 = .view(%bar, 2, 3)
//     return (%linear_7, %relu)
//   }
//   becomes
//   graph @forward(%x, %relu) {
//     %view = .view(%x, -1)
//     %relu_1 = torch.relu(%view)
//     %view_1 = .view(%relu_1, 2, 3)
//     return (%view_1, %relu)
//   }
//
// Example: an attribute that is read, an overload, and a body
//   attribute fc.weight
//   graph @forward(%x) {
//     %p = get_attr fc.weight
//     %q = aten.add.Tensor(%x, %p)
//     %r = torch.cond(True, @then, @then, (%q,))
//     return (%r,)
//   }
//   graph @then(%x) {
//     %foo = torch.neg(%x)
//     return %foo
//   }
//   becomes
//   attribute fc.weight
//   graph @forward(%x) {
//     %weight = get_attr fc.weight
//     %add_tensor = aten.add.Tensor(%x, %weight)
//     %cond = torch.cond(True, @then, @then, (%add_tensor,))
//     return (%cond,)
//   }
//   graph @then(%x) {
//     %neg = torch.neg(%x)
//     return %neg
//   }
//
// Counter-example: the names are canonical already
//   graph @forward(%x) {
//     %add = torch.add(%x, 1)
//     %add_1 = torch.add(%add, 1)
//     return (%add_1,)
//   }
//
// Returns whether anything changed.
absl::StatusOr<bool> CanonicalizeNames(Module* module);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_CANONICAL_NAMES_H_
