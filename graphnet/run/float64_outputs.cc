#include "graphnet/run/float64_outputs.h"

#include <memory>
#include <utility>

#include "graphnet/base/memory.h"
#include "graphnet/base/status.h"
#include "graphnet/passes/pipeline.h"

namespace graphnet {

absl::StatusOr<TensorValues> Float64Outputs(const Engine& engine, const Module& module,
                                            const TensorValues& values, uint64_t seed) {
  Sample wide;
  wide.module = module.Clone();
  wide.weights = values;  // the pass converts them
  ASSIGN_OR_RETURN(const Pipeline pipeline, ParsePipeline("change-dtype{to=f64}"));
  RETURN_IF_ERROR(RunPipeline(pipeline, &wide).status());
  RunSettings settings;
  settings.seed = seed;
  settings.max_bytes = AvailableMemoryBytes();
  ASSIGN_OR_RETURN(const std::unique_ptr<ReadyProgram> program,
                   engine.Prepare(*wide.module, std::move(wide.weights), settings));
  RETURN_IF_ERROR(program->Run(nullptr));
  return program->Outputs();
}

}  // namespace graphnet
