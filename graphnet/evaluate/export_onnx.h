// Writes samples as ONNX with PyTorch's exporter, in the environment of backend onnxruntime.
#ifndef GRAPHNET_EVALUATE_EXPORT_ONNX_H_
#define GRAPHNET_EVALUATE_EXPORT_ONNX_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "graphnet/evaluate/environment.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// FailedPrecondition, with the command that installs it, if the environment does not exist.
absl::Status CheckOnnxExporter();

// Writes the file, or the standard output if `path` is "-". Weights that are too large for one
// protobuf file go to PATH.data beside it. Inputs and outputs are named as in the graph; after the
// outputs come the values of inputs and attributes that the program writes to. Errors of the
// exporter name the operator that has no counterpart. `host` is called only if an exporter's
// process is started.
absl::Status ExportOnnx(const Sample& sample, const std::string& path,
                        absl::FunctionRef<WorkerHost()> host);

// Ends the idle exporter processes. Must be called before the program ends.
void CloseOnnxExporters();

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_EXPORT_ONNX_H_
