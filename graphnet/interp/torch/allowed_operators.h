// Decides which of PyTorch's operators graphs and programs may run. The interpreter,
// extraction, and the replay of extracted programs share this fence.
#ifndef GRAPHNET_INTERP_TORCH_ALLOWED_OPERATORS_H_
#define GRAPHNET_INTERP_TORCH_ALLOWED_OPERATORS_H_

#include "ATen/core/function_schema.h"
#include "ATen/core/stack.h"

namespace graphnet {

// Returns true for operators of ATen and TorchScript that only compute on their operands
// (MayRun in ops/schema_table.h), for those that WithGuard makes safe, for those of libraries
// that the user trusts (operator_library.h), and, after TrustFiles, for those that read files.
bool IsAllowed(const c10::FunctionSchema& schema);
bool ReadsFiles(const c10::FunctionSchema& schema);
// Lets all graphs and programs of this process read files from now on.
void TrustFiles();

// Returns true if an operator does not check operands that it should: they make it read
// memory out of bounds, divide by zero, or use unbounded memory or time.
bool NeedsGuard(const c10::FunctionSchema& schema);
// Returns true if an operator makes a sparse tensor of a layout that it is given, and the guard
// checks the indices. Other layouts than the strided one have no such check elsewhere.
bool TakesSparseLayouts(const c10::FunctionSchema& schema);
// Returns `operation`, preceded by a check that throws c10::Error if the operator needs one.
torch::jit::Operation WithGuard(const c10::FunctionSchema& schema, torch::jit::Operation operation);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_TORCH_ALLOWED_OPERATORS_H_
