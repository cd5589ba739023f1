// Module paths that are found in the names of parameters.
#ifndef GRAPHNET_IR_MODULE_PATH_H_
#define GRAPHNET_IR_MODULE_PATH_H_

#include <string>

#include "absl/strings/string_view.h"

namespace graphnet {

// Returns the module path in the name of a parameter; empty if there is none. The path is
// "layer1.0.conv1" for "layer1.0.conv1.weight" and for
// "L_self_modules_layer1_modules_0_modules_conv1_parameters_weight_".
std::string ModulePathOfParameter(absl::string_view name);

}  // namespace graphnet

#endif  // GRAPHNET_IR_MODULE_PATH_H_
