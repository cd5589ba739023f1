// What the pieces of a graph say of the values they take.
#ifndef GRAPHNET_CLI_PORTS_H_
#define GRAPHNET_CLI_PORTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "graphnet/ir/observed_values.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

enum class PortFacts { kNone, kShapes, kStatistics };

struct PortOptions {
  std::vector<std::string> inputs;  // inputs/example_input.h
  PortFacts facts = PortFacts::kShapes;
  uint64_t seed = 0;
};

// --input, --ports, --seed.
void AddPortOptions(CLI::App* command, PortOptions* options);

struct PortValues {
  ObservedValues values;
  std::string why_not;  // why shapes are not known, and what helps; empty if they are
};

// Describes the inputs of the sample, then infers the shapes of its values, or measures them
// in a run, as the options say. That shapes cannot be inferred is no error.
absl::StatusOr<PortValues> FindPortValues(const PortOptions& options, Sample* sample);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_PORTS_H_
