// ONNX of samples: PyTorch's exporter writes it, in the environment of backend onnxruntime.
#ifndef GRAPHNET_EVALUATE_EXPORT_ONNX_H_
#define GRAPHNET_EVALUATE_EXPORT_ONNX_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "graphnet/evaluate/environment.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// FailedPrecondition, with the line that installs it, if there is no such environment.
absl::Status CheckOnnxExporter();

// Writes the file, and beside it PATH.data where the weights are more than a file of protobuf
// holds; or, for "-", to the standard output. Inputs and outputs are called as in the graph; behind
// the outputs come the values of inputs and attributes that it writes to. Errors of the exporter
// name the operator that has no counterpart.
// `host` says what starts the exporter's process; it is asked when one is started.
absl::Status ExportOnnx(const Sample& sample, const std::string& path,
                        absl::FunctionRef<WorkerHost()> host);

// Ends the processes that wait for more of them. To be called before the program ends.
void CloseOnnxExporters();

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_EXPORT_ONNX_H_
