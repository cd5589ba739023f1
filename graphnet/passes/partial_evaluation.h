// Partial evaluation: what a program in ATen does once the sizes of its inputs are known. Numbers
// and lists are computed, and branches that are not taken and loops of a known length disappear. A
// loop stays as it is if its length depends on data or is large. Writes to memory stay, in their
// order; `functionalize` (passes/functional/functionalize.h) makes them values.
#ifndef GRAPHNET_PASSES_PARTIAL_EVALUATION_H_
#define GRAPHNET_PASSES_PARTIAL_EVALUATION_H_

#include <memory>

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// Evaluates a module whose calls are lowered (passes/torch_to_aten.h); returns a new one.
absl::StatusOr<std::unique_ptr<Module>> PartiallyEvaluate(const Module& module);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_PARTIAL_EVALUATION_H_
