// The inputs of an extracted program, made of values.
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

// The arguments of StitchedProgram::Run. `given`: leaves by name (input_leaves.h); tensors that
// are not among them are drawn as the subgraphs say. FailedPrecondition for a number or a text
// that is another than the one that the program was captured with.
absl::StatusOr<std::vector<c10::IValue>> MakeStitchedInputs(
    const LoadedProgram& loaded, const std::map<std::string, TensorData>& given,
    const DrawOptions& draw);

}  // namespace graphnet

#endif  // GRAPHNET_EXTRACT_STITCHED_INPUTS_H_
