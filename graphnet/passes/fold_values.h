// Internal: implements fold-constants{values=true}.
#ifndef GRAPHNET_PASSES_FOLD_VALUES_H_
#define GRAPHNET_PASSES_FOLD_VALUES_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Runs the calls of the main graph that depend on attributes and constants alone, and replaces them
// by attributes with their values. Returns whether anything changed. FailedPrecondition if nothing
// can run operators (PassRun::constants).
absl::StatusOr<bool> FoldValues(Module* module, PassRun& run);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_FOLD_VALUES_H_
