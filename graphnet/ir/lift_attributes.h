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

}  // namespace graphnet

#endif  // GRAPHNET_IR_LIFT_ATTRIBUTES_H_
