// Internal: facts about a break that follow from the program's code.
#ifndef GRAPHNET_EXTRACT_BREAK_RULES_H_
#define GRAPHNET_EXTRACT_BREAK_RULES_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "graphnet/extract/break_reason.h"
#include "graphnet/extract/plan.h"
#include "graphnet/formats/torchscript/program.h"

namespace graphnet::extract {

// Returns the purpose of the value that a step reads from a tensor, such as a branch on data; if
// no purpose is found, the kind of the read.
BreakReason ReasonOfReading(const StepPlan& step);
// Returns the place of the step, or of the nearest step before it that has one.
const torchscript::Place& PlaceOfStep(const StepPlan& step);
// Returns the program's line at that place, without surrounding white space.
std::string SourceLineOf(const StepPlan& step);
// Returns true if the operator belongs neither to ATen nor to TorchScript.
bool IsCustom(const StepPlan& step);
// Returns the operators that CaptureOptions::break_on names, with their namespaces.
absl::flat_hash_set<std::string> OperatorsToBreakOn(const std::vector<std::string>& names);
// Attributes, by the class of their owner.
using Attributes = absl::flat_hash_set<std::pair<const c10::ClassType*, std::string>>;
// Adds the attributes that the block's code assigns.
void AddAssigned(const torch::jit::Block& block, Attributes* assigned);

}  // namespace graphnet::extract

#endif  // GRAPHNET_EXTRACT_BREAK_RULES_H_
