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

// The purpose of a value that a step reads from a tensor, else the kind of the read.
BreakReason ReasonOfReading(const StepPlan& step);
// The place of the step, or of the nearest one before it that has a place.
const torchscript::Place& PlaceOfStep(const StepPlan& step);
// The line of the program at that place, without white space around it.
std::string SourceLineOf(const StepPlan& step);
// Whether the operator is none of ATen's or TorchScript's.
bool IsCustom(const StepPlan& step);
// The operators that CaptureOptions::break_on names, with their namespaces.
absl::flat_hash_set<std::string> OperatorsToBreakOn(const std::vector<std::string>& names);
// Attributes, by the class of their owner.
using Attributes = absl::flat_hash_set<std::pair<const c10::ClassType*, std::string>>;
// Adds the attributes that the code of the block assigns.
void AddAssigned(const torch::jit::Block& block, Attributes* assigned);

}  // namespace graphnet::extract

#endif  // GRAPHNET_EXTRACT_BREAK_RULES_H_
