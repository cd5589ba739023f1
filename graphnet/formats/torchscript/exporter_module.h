// Translates the IR to a TorchScript module in memory.
#ifndef GRAPHNET_FORMATS_TORCHSCRIPT_EXPORTER_MODULE_H_
#define GRAPHNET_FORMATS_TORCHSCRIPT_EXPORTER_MODULE_H_

#include "absl/status/statusor.h"
#include "graphnet/ir/sample.h"
#include "torch/csrc/jit/api/module.h"

namespace graphnet {

// Returns a module with one method, `forward`. Its tensors are copies.
absl::StatusOr<torch::jit::Module> MakeTorchScriptModule(const Sample& sample);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_TORCHSCRIPT_EXPORTER_MODULE_H_
