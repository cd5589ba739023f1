// What `graphnet run` does with an extracted program.
#ifndef GRAPHNET_CLI_ENGINE_RUN_STITCHED_H_
#define GRAPHNET_CLI_ENGINE_RUN_STITCHED_H_

#include <string>
#include <vector>

#include "ATen/core/ivalue.h"
#include "absl/status/statusor.h"
#include "graphnet/cli/inputs.h"
#include "graphnet/extract/samples.h"
#include "graphnet/inputs/draw.h"

namespace graphnet {

// The program in a folder, ready to run.
struct StitchedRun {
  LoadedProgram loaded;
  std::vector<c10::IValue> inputs;
};
// `inputs`: of tensors by name, `x`, or `x.0` for the first one of a list, `x.key` for one of
// a dict; the others are drawn as the subgraphs say. `trust`: of
// LoadProgram.
absl::StatusOr<StitchedRun> PrepareStitchedRun(const std::string& folder,
                                               const InputOptions& inputs, const DrawOptions& draw,
                                               bool trust);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_ENGINE_RUN_STITCHED_H_
