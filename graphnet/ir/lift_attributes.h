// Attributes as inputs: what the pass lift-attributes does, and forms that know no attributes.
#ifndef GRAPHNET_IR_LIFT_ATTRIBUTES_H_
#define GRAPHNET_IR_LIFT_ATTRIBUTES_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// Turns every attribute that the main graph reads into a placeholder behind those that are there,
// with the attribute's meta, annotation and draw spec, and erases all attributes. Returns whether
// anything changed. A placeholder is called as its attribute, or, where an input has that name,
// by another, which `renamed` tells by the attribute's unless it is null. A body that reads an
// attribute is refused (Unimplemented). O(nodes).
absl::StatusOr<bool> LiftAttributes(Module* module,
                                    std::map<std::string, std::string>* renamed = nullptr);

// Whether an input stands for a parameter, as LiftAttributes makes them: annotated as one, with
// the name of the attribute as its target and as original_name. When it is run it asks for
// gradients, as the parameter does. An input of a folder of GraphNet may have the annotation, too,
// but its values are plain tensors there.
bool IsLiftedParameter(const Node& placeholder);

}  // namespace graphnet

#endif  // GRAPHNET_IR_LIFT_ATTRIBUTES_H_
