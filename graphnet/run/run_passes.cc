#include "graphnet/run/run_passes.h"

#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "graphnet/base/memory.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/pt2/exporter.h"
#include "graphnet/run/infer_sizes.h"

namespace graphnet {

bool WantsSizes(const Pipeline& pipeline) {
  return absl::c_any_of(
      pipeline, [](const PipelineStep& step) { return step.pass->name() == "generalize-dims"; });
}

bool FoldsValues(const Pipeline& pipeline) {
  return absl::c_any_of(pipeline, [](const PipelineStep& step) {
    const auto values = step.options.find("values");
    return step.pass->name() == "fold-constants" && values != step.options.end() &&
           values->second == "true";
  });
}

absl::StatusOr<std::vector<StepResult>> RunPassesByEngine(const Pipeline& pipeline,
                                                          bool keeps_values,
                                                          absl::StatusOr<const Engine*> (*open)(),
                                                          PipelineOptions options, Sample* sample) {
  const bool folds_values = FoldsValues(pipeline);
  if (folds_values) RETURN_IF_ERROR(open().status());
  if (folds_values && LacksMetas(*sample->module)) {
    if (const auto engine = open(); engine.ok()) (*engine)->InferShapes(sample).IgnoreError();
  }
  if (WantsSizes(pipeline)) {
    if (const auto engine = open(); engine.ok())
      options.infer_sizes = InferSizesBy(**engine, *sample);
  }
  if (folds_values || (keeps_values && absl::c_any_of(pipeline, [](const PipelineStep& step) {
                         return step.pass->uses_values();
                       }))) {
    options.run_constants = [open](const Module& module,
                                   const TensorValues& values) -> absl::StatusOr<TensorValues> {
      ASSIGN_OR_RETURN(const Engine* engine, open());
      ASSIGN_OR_RETURN(const std::unique_ptr<ReadyProgram> program,
                       engine->Prepare(module, values, {.max_bytes = AvailableMemoryBytes() / 2}));
      RETURN_IF_ERROR(program->Run(nullptr));
      return program->Outputs();
    };
  }
  return RunPipeline(pipeline, sample, options);
}

}  // namespace graphnet
