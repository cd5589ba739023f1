// Passes with what an engine gives them: the sizes of values, and values themselves.
#ifndef GRAPHNET_RUN_RUN_PASSES_H_
#define GRAPHNET_RUN_RUN_PASSES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/ir/sample.h"
#include "graphnet/passes/pipeline.h"
#include "graphnet/run/engine.h"

namespace graphnet {

// Returns whether a step needs the sizes of all values, which may depend on weights.
bool WantsSizes(const Pipeline& pipeline);
// Returns whether a step makes weights of what follows from weights: fold-constants{values=true}.
bool FoldsValues(const Pipeline& pipeline);

// Runs a pipeline on a sample, as RunPipeline does. `open`, such as OpenEngine, is called only if a
// step can make use of an engine; it sets options.infer_sizes and options.run_constants. Without
// LibTorch, passes ask their own rules, and a step that folds values is an error. `keeps_values`: new
// weights can be kept, so that steps may make them of the weights of the sample.
absl::StatusOr<std::vector<StepResult>> RunPassesByEngine(const Pipeline& pipeline,
                                                          bool keeps_values,
                                                          absl::StatusOr<const Engine*> (*open)(),
                                                          PipelineOptions options, Sample* sample);

}  // namespace graphnet

#endif  // GRAPHNET_RUN_RUN_PASSES_H_
