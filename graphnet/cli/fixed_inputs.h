// Inputs that `hash` and `diff` take for constants.
#ifndef GRAPHNET_CLI_FIXED_INPUTS_H_
#define GRAPHNET_CLI_FIXED_INPUTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/identity/normal_form.h"

namespace graphnet {

// Those of --input that have a name and are None or a number: "mask=None", "n=int=3".
absl::StatusOr<NormalFormOptions> FixedInputs(const std::vector<std::string>& words);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_FIXED_INPUTS_H_
