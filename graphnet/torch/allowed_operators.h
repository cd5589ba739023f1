// Which of PyTorch's operators graphs and programs may run.
#ifndef GRAPHNET_TORCH_ALLOWED_OPERATORS_H_
#define GRAPHNET_TORCH_ALLOWED_OPERATORS_H_

#include "ATen/core/function_schema.h"

namespace graphnet {

// True for operators of ATen and TorchScript that only compute on their operands.
bool IsAllowed(const c10::FunctionSchema& schema);

}  // namespace graphnet

#endif  // GRAPHNET_TORCH_ALLOWED_OPERATORS_H_
