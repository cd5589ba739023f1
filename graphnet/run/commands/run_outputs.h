// Writes and reports the outputs of a run.
#ifndef GRAPHNET_RUN_COMMANDS_RUN_OUTPUTS_H_
#define GRAPHNET_RUN_COMMANDS_RUN_OUTPUTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graphnet/base/report.h"
#include "graphnet/run/engine.h"

namespace graphnet {

// Returns o0, o1, …, and after a quantised output the names of its parameters.
std::vector<std::string> NamesInOrder(const TensorValues& outputs);
// Writes o0, o1, … as safetensors to a file; "-" is the standard output, "" writes nothing.
absl::Status WriteOutputs(const TensorValues& outputs, const std::string& path);
// Returns "outputs", with the name, dtype and shape of each, which is a line "o0  f32[8, 4]".
Report OutputsReport(const TensorValues& outputs);

}  // namespace graphnet

#endif  // GRAPHNET_RUN_COMMANDS_RUN_OUTPUTS_H_
