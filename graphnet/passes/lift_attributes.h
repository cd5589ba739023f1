// LiftAttributes: turns the attributes of a module into arguments of its main
// graph.
#ifndef GRAPHNET_PASSES_LIFT_ATTRIBUTES_H_
#define GRAPHNET_PASSES_LIFT_ATTRIBUTES_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Turns every attribute that is read into a placeholder after the existing ones.
//
// Tier: core
//
// Applicable in scenarios where parameters and buffers have to be inputs: the
// folders of GraphNet know no attributes, and a compiler that takes weights as
// arguments wants them so.
//
// When applied, this pass will replace the get_attr nodes of an attribute in the main graph by one
// placeholder, in the order of the module's attributes, with the attribute's meta, annotation and
// draw spec; the attribute's name becomes its target and `original_name`. Unread attributes are
// dropped. A body that reads an attribute is refused (Unimplemented), as the calls that take the
// body would need one more operand.
//
// Performance impact: O(nodes). Running takes as long as before.
//
// Risks and limitations: the caller must pass the values that the module held. A module in which a
// body reads an attribute is refused as a whole.
//
// Example: a weight becomes an argument
//   attribute fc.weight : f32[4, 8]
//   graph @forward(%x) {
//     %weight = get_attr fc.weight
//     %linear = aten.linear.default(%x, %weight)
//     return %linear
//   }
//   becomes
//   graph @forward(%x, %weight_1 "fc.weight" : f32[4, 8] {original_name = fc.weight}) {
//     %linear = aten.linear.default(%x, %weight_1)
//     return %linear
//   }
//
// Example: an attribute that is read twice, and one that nothing reads
//   attribute a : f32[4] as torch.nn.parameter.Parameter {std = 0.1}
//   attribute b : f32[4]
//   graph @forward(%x) {
//     %p = get_attr a
//     %y = torch.add(%x, %p)
//     %q = get_attr a
//     %z = torch.mul(%y, %q)
//     return (%z,)
//   }
//   becomes
//   graph @forward(
//     %x,
//     %p_1 "a" : f32[4] as torch.nn.parameter.Parameter {std = 0.1, original_name = a}
//   ) {
//     %y = torch.add(%x, %p_1)
//     %z = torch.mul(%y, %p_1)
//     return (%z,)
//   }
//
// Counter-example: a body would need one more operand
//   attribute w
//   graph @forward(%x) {
//     %y = torch.cond(True, @b, @b, (%x,))
//     return %y
//   }
//   graph @b(%x) {
//     %w = get_attr w
//     %y = torch.add(%x, %w)
//     return %y
//   }
//   refused: an attribute is read inside a body
//
// Counter-example: there are no attributes
//   graph @forward(%x, %w) {
//     %y = torch.add(%x, %w)
//     return (%y,)
//   }
//
// Returns whether anything changed.
absl::StatusOr<bool> LiftAttributes(Module* module, PassRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_LIFT_ATTRIBUTES_H_
