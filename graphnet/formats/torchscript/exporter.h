// Writes TorchScript archives that `torch.jit.load` reads, in Python and in C++.
//
//   RETURN_IF_ERROR(ExportTorchScript(sample, "resnet18.pt"));
//
// The calls of the sample may be ATen overloads, Python's operators on numbers and
// subscripts, and calls that the importer makes (docs/torchscript.md). Python's calls
// (torch.*, Tensor methods) are lowered to these first. Sample::weights must hold the
// values of its attributes. Errors name the node that cannot be exported.
//
// Needs LibTorch to link, but not to compile against.
#ifndef GRAPHNET_FORMATS_TORCHSCRIPT_EXPORTER_H_
#define GRAPHNET_FORMATS_TORCHSCRIPT_EXPORTER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/ir/missing_calls.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Writes the main graph as `forward`. The file is written completely or not at all.
absl::Status ExportTorchScript(const Sample& sample, const std::string& path);

// Like ExportTorchScript, but returns the bytes of the file. Adds to `notes`, unless it is null, the
// inputs and attributes that have other names there.
absl::StatusOr<std::string> ExportTorchScriptToString(const Sample& sample,
                                                      std::vector<std::string>* notes = nullptr);

// Returns OK if ExportTorchScript would write the sample. If not, returns the first call's error
// and adds all calls that cannot be written to `missing`, unless another such call hides them.
absl::Status CheckTorchScript(const Sample& sample, MissingCalls* missing);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_TORCHSCRIPT_EXPORTER_H_
