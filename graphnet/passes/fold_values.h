// Internal: fold-constants{values=true}.
#ifndef GRAPHNET_PASSES_FOLD_VALUES_H_
#define GRAPHNET_PASSES_FOLD_VALUES_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Runs the calls of the main graph that depend on attributes and constants alone, and puts
// attributes of their values in their places. Whether anything changed. FailedPrecondition if
// nothing runs operators here (PassRun::constants).
absl::StatusOr<bool> FoldValues(Module* module, PassRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_FOLD_VALUES_H_
