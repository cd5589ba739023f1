// Internal: replaces calls by weights with their values. Implements fold-constants{values=true}.
#ifndef GRAPHNET_PASSES_FOLD_VALUES_H_
#define GRAPHNET_PASSES_FOLD_VALUES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pass.h"

namespace graphnet {

// Runs the calls of the main graph that depend on attributes and constants alone, and replaces them
// by attributes with their values. Returns whether anything changed. FailedPrecondition if nothing
// can run operators (PassRun::constants).
absl::StatusOr<bool> FoldValues(Module* module, PassRun& run);

// A call of the main graph that is computed ahead.
struct AheadCall {
  Node* call = nullptr;
  std::string attribute;  // gets the value; a name that is taken gets a suffix
};

// Runs calls, which depend on attributes of known values and constants alone, and replaces each by a
// read of an attribute with its value. Erases what nothing needs any more. A call stays if its value
// has another dtype or other sizes than its meta says. Returns how many were replaced. The errors are
// those of the run; PassRun::constants must not be null.
absl::StatusOr<size_t> ComputeAhead(Module* module, PassRun& run,
                                    const std::vector<AheadCall>& calls);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_FOLD_VALUES_H_
