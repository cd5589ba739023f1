// Partial evaluation: what a program in ATen does once the sizes of its inputs are known. Numbers,
// lists, dicts and texts are computed, and branches that are not taken and loops of a known length
// disappear. A loop stays as it is if its length depends on data or is large. Writes to memory stay, in their
// order; `functionalize` (passes/functional/functionalize.h) makes them values.
#ifndef GRAPHNET_PASSES_PARTIAL_EVALUATION_PARTIAL_EVALUATION_H_
#define GRAPHNET_PASSES_PARTIAL_EVALUATION_PARTIAL_EVALUATION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// Evaluates a module whose calls are lowered (passes/torch_to_aten.h); returns a new one, which
// returns one flat tuple.
absl::StatusOr<std::unique_ptr<Module>> PartiallyEvaluate(const Module& module);

struct ProgramOfCall {
  std::unique_ptr<Module> module;  // returns the structure that the program returns
  // The attributes whose new values are lost, such as "model.last_rate": each call starts with the
  // values that they have in the module.
  std::vector<std::string> lost;
};

// Does the same for a writer of programs that has no lists, dicts and texts as objects: a list is
// written where it is used, and a call on one stays if it cannot be computed, for the writer to
// refuse it. InvalidArgument if the program would be too large. `with_state`: also follows the
// attributes that a program of TorchScript assigns (prim.GetAttr, prim.SetAttr), from the values
// that they have in the module. If such an attribute is a tensor and gets a new value of its dtype
// and sizes, the program copies that into it at the end. If a branch or loop that stays assigns
// attributes, none is followed.
absl::StatusOr<ProgramOfCall> EvaluateCall(const Module& module, bool with_state);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_PARTIAL_EVALUATION_PARTIAL_EVALUATION_H_
