// Maps the arguments with which a user calls a torch.export program to its inputs.
#ifndef GRAPHNET_FORMATS_PT2_INPUT_STRUCTURE_H_
#define GRAPHNET_FORMATS_PT2_INPUT_STRUCTURE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/formats/pt2/tree_spec.h"
#include "graphnet/ir/sample.h"

namespace graphnet::pt2 {

// The structure of the arguments, and the placeholder of each leaf.
struct InputStructure {
  TreeSpec spec;                    // (args, kwargs)
  std::vector<std::string> inputs;  // a placeholder for each leaf; empty for a constant
};

// Reads the structure from the program that the sample keeps (kProgramFile, importer.h). NotFound
// if it keeps none; InvalidArgument for JSON that does not follow the schema.
absl::StatusOr<InputStructure> ReadInputStructure(const Sample& sample);

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_INPUT_STRUCTURE_H_
