// The outputs of a run, as the tool writes and prints them.
#ifndef GRAPHNET_CLI_RUN_OUTPUTS_H_
#define GRAPHNET_CLI_RUN_OUTPUTS_H_

#include <cstdio>
#include <string>

#include "absl/status/status.h"
#include "graphnet/cli/engine.h"
#include "graphnet/cli/json.h"

namespace graphnet {

// Writes o0, o1, … to a safetensors file, or to the standard output for "-", or nowhere for "".
absl::Status WriteOutputs(const TensorValues& outputs, const std::string& path);
// Prints a line for each: "o0  f32[8, 4]".
void PrintOutputs(const TensorValues& outputs, FILE* out);
// Lists name, dtype and shape of each.
Json OutputsJson(const TensorValues& outputs);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_RUN_OUTPUTS_H_
