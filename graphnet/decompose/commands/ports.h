// The facts about input values that pieces of a graph state.
#ifndef GRAPHNET_DECOMPOSE_COMMANDS_PORTS_H_
#define GRAPHNET_DECOMPOSE_COMMANDS_PORTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/command/command_line.h"
#include "graphnet/evaluate/input_values.h"
#include "graphnet/ir/sample.h"
#include "graphnet/run/port_values.h"

namespace graphnet {

// The facts that pieces state about values from inside the graph.
enum class PortFacts { kNone, kShapes, kStatistics };

struct PortOptions {
  InputOptions inputs;
  PortFacts facts = PortFacts::kShapes;
  uint64_t seed = 0;
};

// Adds --input, --ports and --seed.
void AddPortOptions(CommandLine& command, PortOptions* options);

// Describes the inputs of the sample, then infers the shapes of its values or measures the values
// in a run, as the options say. It is not an error if shapes cannot be inferred.
absl::StatusOr<PortValues> FindPortValues(const PortOptions& options, Sample* sample);

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_COMMANDS_PORTS_H_
