#include "graphnet/formats/torchscript/exporter.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/listed_names.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/torchscript/exporter_graph.h"
#include "graphnet/formats/torchscript/exporter_module.h"
#include "graphnet/formats/torchscript/exporter_types.h"
#include "graphnet/interp/torch/status.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/ops/fused.h"
#include "graphnet/ops/lowering.h"
#include "torch/csrc/jit/serialization/export.h"

namespace graphnet {

namespace {

// Returns whether a call is written as in Python programs (torch.*, a method).
bool NeedsLowering(const Module& module) {
  for (const Graph* graph : module.graphs()) {
    for (const Node* node : graph->nodes()) {
      if (node->op() == Op::kCallMethod || IsFusedCall(*node)) return true;
      if (node->op() == Op::kCallFunction && absl::StartsWith(node->target(), "torch.") &&
          !absl::StartsWith(node->target(), "torch.ops.") && node->target() != "torch.cond" &&
          node->target() != "torch.while_loop") {
        return true;
      }
    }
  }
  return false;
}

absl::StatusOr<torch::jit::Module> MakeModule(const Sample& sample, MissingCalls* missing,
                                              std::vector<std::string>* notes) {
  return Guarded([&]() -> absl::StatusOr<torch::jit::Module> {
    torch::jit::Module module("__torch__.GraphModule");
    torchscript::GraphExporter exporter(&sample, module, missing);
    RETURN_IF_ERROR(exporter.Run());
    if (const std::vector<std::string> renamed = exporter.Renamed();
        notes != nullptr && !renamed.empty()) {
      notes->push_back(absl::StrCat("renamed for TorchScript: ", ListedNames(renamed)));
    }
    return module;
  });
}

// Implements MakeTorchScriptModule and, if `missing` is given, CheckTorchScript.
absl::StatusOr<torch::jit::Module> LowerAndMake(const Sample& sample, MissingCalls* missing,
                                                std::vector<std::string>* notes = nullptr) {
  RETURN_IF_ERROR(Verify(*sample.module));
  if (!NeedsLowering(*sample.module)) return MakeModule(sample, missing, notes);
  RefusedCalls refused;
  ASSIGN_OR_RETURN(LoweredModule lowered,
                   LowerToAten(*sample.module, missing == nullptr ? nullptr : &refused));
  if (!refused.empty()) {
    for (const auto& [node, status] : refused) AddMissing(status, missing);
    return refused.begin()->second;
  }
  Sample aten;
  aten.name = sample.name;
  aten.module = std::move(lowered.module);
  aten.weights = sample.weights;
  return MakeModule(aten, missing, notes);
}

}  // namespace

absl::StatusOr<torch::jit::Module> MakeTorchScriptModule(const Sample& sample) {
  return LowerAndMake(sample, /*missing=*/nullptr);
}

absl::Status CheckTorchScript(const Sample& sample, MissingCalls* missing) {
  absl::Status status = LowerAndMake(sample, missing).status();
  if (!status.ok() && missing->empty()) AddMissing(status, missing);
  return status;
}

absl::StatusOr<std::string> ExportTorchScriptToString(const Sample& sample,
                                                      std::vector<std::string>* notes) {
  ASSIGN_OR_RETURN(const torch::jit::Module module,
                   LowerAndMake(sample, /*missing=*/nullptr, notes));
  return Guarded([&]() -> absl::StatusOr<std::string> {
    std::string bytes;
    torch::jit::ExportModule(module, [&bytes](const void* data, size_t size) {
      bytes.append(static_cast<const char*>(data), size);
      return size;
    });
    return bytes;
  });
}

absl::Status ExportTorchScript(const Sample& sample, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ExportTorchScriptToString(sample));
  return WriteFileAtomic(path, bytes);
}

}  // namespace graphnet
