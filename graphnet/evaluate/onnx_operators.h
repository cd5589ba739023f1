// What PyTorch's ONNX exporter has nothing for, without asking it: onnx_operators.txt, which
// make_onnx_operators.py writes, and what else of calls is known to stop it.
#ifndef GRAPHNET_EVALUATE_ONNX_OPERATORS_H_
#define GRAPHNET_EVALUATE_ONNX_OPERATORS_H_

#include "absl/strings/string_view.h"
#include "graphnet/ir/missing_calls.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// The calls of a program of ATen's overloads that the exporter cannot write.
MissingCalls MissingInOnnx(const Module& program);
// The calls of which the exporter makes what ONNX Runtime has no kernels for on the CPU.
MissingCalls MissingInOnnxRuntime(const Module& program);

// onnx_operators.txt.
absl::string_view OnnxOperatorsText();

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_ONNX_OPERATORS_H_
