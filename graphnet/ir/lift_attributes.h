// Turns attributes into inputs, for the pass lift-attributes and for formats without attributes.
#ifndef GRAPHNET_IR_LIFT_ATTRIBUTES_H_
#define GRAPHNET_IR_LIFT_ATTRIBUTES_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// Turns each attribute that the main graph reads into a placeholder behind the existing ones, with
// the attribute's meta, annotation and draw spec, and erases all attributes. Returns whether
// anything changed. The name of an attribute becomes the target of its placeholder. If an input has
// that target, the placeholder gets another, and `renamed`, unless null, maps the attribute's name
// to it. Unimplemented if a body reads an attribute. O(nodes).
absl::StatusOr<bool> LiftAttributes(Module* module,
                                    std::map<std::string, std::string>* renamed = nullptr);

// Returns whether an input stands for a parameter, as LiftAttributes makes it: it has a parameter's
// annotation, and the name of the attribute is its target and its original_name. A run requires
// gradients for it, as for the parameter. An input of a GraphNet folder may have the annotation,
// too, but its values are plain tensors there.
bool IsLiftedParameter(const Node& placeholder);

}  // namespace graphnet

#endif  // GRAPHNET_IR_LIFT_ATTRIBUTES_H_
