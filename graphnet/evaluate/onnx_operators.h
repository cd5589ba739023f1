// Predicts the calls that stop PyTorch's ONNX exporter, without running it. It uses
// onnx_operators.txt, which make_onnx_operators.py writes, and rules for other calls that fail.
#ifndef GRAPHNET_EVALUATE_ONNX_OPERATORS_H_
#define GRAPHNET_EVALUATE_ONNX_OPERATORS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "graphnet/ir/missing_calls.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// Returns why the exporter cannot write a call in ATen's overloads; empty if it can.
std::string WhyNotInOnnx(const Node& node);
// Returns the calls that the exporter cannot write. `program` must be in ATen's overloads.
MissingCalls MissingInOnnx(const Module& program);
// Returns the calls from which the exporter makes operators that ONNX Runtime has no CPU kernels
// for.
MissingCalls MissingInOnnxRuntime(const Module& program);

// Returns the text of onnx_operators.txt, which is built in.
absl::string_view OnnxOperatorsText();

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_ONNX_OPERATORS_H_
