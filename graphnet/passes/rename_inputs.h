// Numbers the inputs of a graph.
#ifndef GRAPHNET_PASSES_RENAME_INPUTS_H_
#define GRAPHNET_PASSES_RENAME_INPUTS_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Renames the inputs of a graph to in_0, in_1, … and its weights to w_0, w_1, ….
//
// Tier: core
//
// Applicable in scenarios where graphs of different models are compared or hashed as text: the
// names of parameters depend on the model, not on the graph.
//
// When applied, this pass will give every placeholder of the main graph a new target and name, in
// order, and keep the old target as original_name in its draw spec unless there is one. A weight is
// a placeholder that is annotated as a Parameter, whose name contains _self_ or _instance_modules_,
// as names of traced attributes do, or that is called w_ and a number already. Calls keep their
// names (canonical-names renames those).
//
// Performance impact: O(placeholders).
//
// Risks and limitations: callers that pass inputs or weights by name must use the new names. A
// weight that neither its name nor its annotation shows counts as an input.
//
// Example: an input and a parameter
//   graph @forward(
//     %x "L_x_" : f32[2],
//     %fc "L_self_fc_weight" : f32[4, 2] as torch.nn.parameter.Parameter {std = 0.1}
//   ) {
//     %y = torch.nn.functional.linear(%x, %fc)
//     return (%y,)
//   }
//   becomes
//   graph @forward(
//     %in_0 : f32[2] {original_name = L_x_},
//     %w_0 : f32[4, 2] as torch.nn.parameter.Parameter {std = 0.1, original_name = L_self_fc_weight}
//   ) {
//     %y = torch.nn.functional.linear(%in_0, %w_0)
//     return (%y,)
//   }
//
// Example: a name tells of a weight, and a value gives its name up
//   graph @forward(%y "L_y_" : f32[2], %b "L_self_buffers_mean_" : f32[2]) {
//     %in_0 = torch.sub(%y, %b)
//     return (%in_0,)
//   }
//   becomes
//   graph @forward(
//     %in_0 : f32[2] {original_name = L_y_},
//     %w_0 : f32[2] {original_name = L_self_buffers_mean_}
//   ) {
//     %in_0_1 = torch.sub(%in_0, %w_0)
//     return (%in_0_1,)
//   }
//
// Counter-example: renamed already
//   graph @forward(%in_0 : f32[2], %w_0 : f32[4, 2]) {
//     %y = torch.nn.functional.linear(%in_0, %w_0)
//     return (%y,)
//   }
//
// Returns whether anything changed.
absl::StatusOr<bool> RenameInputs(Module* module, PassRun& run);

// Returns whether an input of the main graph is a parameter or buffer by annotation or name.
bool IsWeight(const Node& placeholder);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_RENAME_INPUTS_H_
