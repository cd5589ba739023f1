// Internal: what of a break can be told from the step at which it happens.
#ifndef GRAPHNET_EXTRACT_BREAK_RULES_H_
#define GRAPHNET_EXTRACT_BREAK_RULES_H_

#include <string>

#include "graphnet/extract/break_reason.h"
#include "graphnet/extract/plan.h"
#include "graphnet/formats/torchscript/program.h"

namespace graphnet::extract {

// What a value that a step reads from a tensor is for, else what kind of read it is.
BreakReason ReasonOfReading(const StepPlan& step);
// The place of the step, or of the nearest one before it that has a place.
const torchscript::Place& PlaceOfStep(const StepPlan& step);
// The line of the program at that place, without white space around it.
std::string SourceLineOf(const StepPlan& step);
// Whether the operator is none of ATen's or TorchScript's.
bool IsCustom(const StepPlan& step);

}  // namespace graphnet::extract

#endif  // GRAPHNET_EXTRACT_BREAK_RULES_H_
