// Which of PyTorch's operators graphs and programs may run: the fence that the
// interpreter, extraction and the replay of what it extracted share.
#ifndef GRAPHNET_INTERP_TORCH_ALLOWED_OPERATORS_H_
#define GRAPHNET_INTERP_TORCH_ALLOWED_OPERATORS_H_

#include "ATen/core/function_schema.h"
#include "ATen/core/stack.h"

namespace graphnet {

// True for operators of ATen and TorchScript that only compute on their operands
// (MayRun in ops/schema_table.h), for those that WithGuard makes such, and for those of
// libraries that the user trusts (operator_library.h). Operators that read files once TrustFiles
// was called.
bool IsAllowed(const c10::FunctionSchema& schema);
bool ReadsFiles(const c10::FunctionSchema& schema);
// Lets all graphs and programs of this process read files from now on.
void TrustFiles();

// Whether an operator trusts its operands where it must not: it reads memory by what they
// say, divides by them, or takes memory or time without end.
bool NeedsGuard(const c10::FunctionSchema& schema);
// `operation`, after that check if it needs one, which throws c10::Error.
torch::jit::Operation WithGuard(const c10::FunctionSchema& schema, torch::jit::Operation operation);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_TORCH_ALLOWED_OPERATORS_H_
