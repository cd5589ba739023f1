#include "graphnet/formats/torchscript/exporter.h"

#include <utility>

#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/torchscript/exporter_graph.h"
#include "graphnet/formats/torchscript/exporter_module.h"
#include "graphnet/formats/torchscript/exporter_types.h"
#include "graphnet/interp/torch_status.h"
#include "graphnet/ir/verifier.h"
#include "torch/csrc/jit/serialization/export.h"

namespace graphnet {

absl::StatusOr<torch::jit::Module> MakeTorchScriptModule(const Sample& sample) {
  RETURN_IF_ERROR(Verify(*sample.module));
  try {
    torch::jit::Module module("__torch__.GraphModule");
    torchscript::GraphExporter exporter(&sample, module);
    RETURN_IF_ERROR(exporter.Run());
    return module;
  } catch (...) {
    return CurrentExceptionStatus();
  }
}

absl::StatusOr<std::string> ExportTorchScriptToString(const Sample& sample) {
  ASSIGN_OR_RETURN(const torch::jit::Module module, MakeTorchScriptModule(sample));
  try {
    std::string bytes;
    torch::jit::ExportModule(module, [&bytes](const void* data, size_t size) {
      bytes.append(static_cast<const char*>(data), size);
      return size;
    });
    return bytes;
  } catch (...) {
    return CurrentExceptionStatus();
  }
}

absl::Status ExportTorchScript(const Sample& sample, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ExportTorchScriptToString(sample));
  return WriteFileAtomic(path, bytes);
}

}  // namespace graphnet
