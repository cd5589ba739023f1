// Renames inputs to given names.
#ifndef GRAPHNET_PASSES_NAME_INPUTS_H_
#define GRAPHNET_PASSES_NAME_INPUTS_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Renames inputs of a graph as the options say: rename-inputs{x=image,L_ids_=ids}.
//
// Applicable in scenarios where the user of a program knows its inputs by other names than the tool
// that captured it.
//
// When applied, this pass will look for each option's name among the targets and names of the main
// graph's placeholders, and give that placeholder the option's value as target and name. An inner
// value that has the new name gets another one. Values and constraints that are stored under the
// old name follow. An input that has the new name already stays.
//
// Options:
// - *: the new name of the input that the option is called by
//
// Performance impact: O(nodes).
//
// Risks and limitations: callers must use the new names. An unknown input is refused, and so is a
// new name that another input or attribute has.
//
// Example: an input of a traced function
//   L_x_=image
//   graph @forward(%x "L_x_" : f32[2]) {
//     %y = torch.relu(%x)
//     return (%y,)
//   }
//   becomes
//   graph @forward(%image : f32[2]) {
//     %y = torch.relu(%image)
//     return (%y,)
//   }
//
// Example: two inputs, and a value that gives its name up
//   a=left,b=right
//   graph @forward(%a : f32[2], %b : f32[2]) {
//     %left = torch.sub(%a, %b)
//     return (%left,)
//   }
//   becomes
//   graph @forward(%left : f32[2], %right : f32[2]) {
//     %left_1 = torch.sub(%left, %right)
//     return (%left_1,)
//   }
//
// Counter-example: renamed already
//   L_x_=image
//   graph @forward(%image : f32[2]) {
//     %y = torch.relu(%image)
//     return (%y,)
//   }
//
// Counter-example: no input has that name
//   image=picture
//   graph @forward(%x : f32[2]) {
//     return (%x,)
//   }
//   refused: there is no input image
//
// Returns whether anything changed.
absl::StatusOr<bool> NameInputs(Module* module, PassRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_NAME_INPUTS_H_
