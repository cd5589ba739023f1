// How what a user calls a program of torch.export with maps onto its inputs.
#ifndef GRAPHNET_FORMATS_PT2_INPUT_STRUCTURE_H_
#define GRAPHNET_FORMATS_PT2_INPUT_STRUCTURE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/formats/pt2/tree_spec.h"
#include "graphnet/ir/sample.h"

namespace graphnet::pt2 {

struct InputStructure {
  TreeSpec spec;                    // (args, kwargs)
  std::vector<std::string> inputs;  // one a leaf: the placeholder; empty: a constant
};

// Of the program that the sample keeps (kProgramFile, importer.h). NotFound if it keeps none;
// InvalidArgument for what is not written as the schema has it.
absl::StatusOr<InputStructure> ReadInputStructure(const Sample& sample);

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_INPUT_STRUCTURE_H_
