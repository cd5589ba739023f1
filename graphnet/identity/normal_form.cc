#include "graphnet/identity/normal_form.h"

#include <utility>

#include "graphnet/base/status.h"
#include "graphnet/passes/pipeline.h"

namespace graphnet {

absl::StatusOr<std::unique_ptr<Module>> NormalForm(const Module& module) {
  std::unique_ptr<Module> made = module.Clone();
  ASSIGN_OR_RETURN(const Pipeline pipeline, ParsePipeline("torch-to-aten,dce,canonical-arguments"));
  RETURN_IF_ERROR(RunPipeline(pipeline, made.get()).status());
  return made;
}

}  // namespace graphnet
