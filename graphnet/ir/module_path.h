// What the names of parameters say of the modules they are in.
#ifndef GRAPHNET_IR_MODULE_PATH_H_
#define GRAPHNET_IR_MODULE_PATH_H_

#include <string>

#include "absl/strings/string_view.h"

namespace graphnet {

// The path that the name of a parameter carries, as "layer1.0.conv1.weight" or
// "L_self_modules_layer1_modules_0_modules_conv1_parameters_weight_" do: "layer1.0.conv1";
// empty if none.
std::string ModulePathOfParameter(absl::string_view name);

}  // namespace graphnet

#endif  // GRAPHNET_IR_MODULE_PATH_H_
