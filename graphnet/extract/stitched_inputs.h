// Makes the inputs of an extracted program.
#ifndef GRAPHNET_EXTRACT_STITCHED_INPUTS_H_
#define GRAPHNET_EXTRACT_STITCHED_INPUTS_H_

#include <map>
#include <string>
#include <vector>

#include "ATen/core/ivalue.h"
#include "absl/status/statusor.h"
#include "graphnet/extract/samples.h"
#include "graphnet/interp/inputs/draw.h"

namespace graphnet {

// Returns arguments of StitchedProgram::Run. `given` has leaves by name (input_leaves.h); other
// tensors are drawn by the draw specs of the subgraphs. FailedPrecondition for a number or a string
// that differs from the captured one.
absl::StatusOr<std::vector<c10::IValue>> MakeStitchedInputs(
    const LoadedProgram& loaded, const std::map<std::string, TensorData>& given,
    const DrawOptions& draw);

}  // namespace graphnet

#endif  // GRAPHNET_EXTRACT_STITCHED_INPUTS_H_
