// Finds which sizes of the inputs of a sample without symbols can be others.
#ifndef GRAPHNET_PASSES_RESIZE_FIND_SYMBOLS_H_
#define GRAPHNET_PASSES_RESIZE_FIND_SYMBOLS_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "graphnet/ir/sample.h"
#include "graphnet/passes/resize/resize_plan.h"

namespace graphnet {

// Says whether a sample works as it is now: at one row of a plan, which may be null.
using TrySample = absl::FunctionRef<absl::Status(Sample* sample, ResizePlan* plan, size_t row)>;

// Gives sizes of inputs that are no weights symbols S0, S1, …: first the batch, axis 0 of the first
// input and of those that have the same size there, then each other size above one, on all axes
// behind axis 0 that have it. A symbol stays if the numbers of the graph follow it, and the sample
// works at the size that was recorded, at twice and at three times that size. FailedPrecondition says
// why there is none, by the first size that was tried; the sample is then as it was.
absl::Status FindSymbols(Sample* sample, const InferSizes& infer, TrySample works);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_RESIZE_FIND_SYMBOLS_H_
