// Writes TorchScript archives that `torch.jit.load` reads, in Python and in C++.
//
//   RETURN_IF_ERROR(ExportTorchScript(sample, "resnet18.pt"));
//
// The calls of the sample are ATen overloads, what Python does with numbers and
// subscripts, and what the importer yields (docs/torchscript.md); those of graphs as
// Python writes them (torch.*, Tensor methods) are lowered to that first. The values
// of its attributes stand in Sample::weights. Messages name the node that cannot be
// exported.
//
// Needs LibTorch to link, but not to compile against.
#ifndef GRAPHNET_FORMATS_TORCHSCRIPT_EXPORTER_H_
#define GRAPHNET_FORMATS_TORCHSCRIPT_EXPORTER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/ir/missing_calls.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// The first graph becomes `forward`. The file is written as a whole or not at all.
absl::Status ExportTorchScript(const Sample& sample, const std::string& path);

// Ditto, the bytes of the file.
absl::StatusOr<std::string> ExportTorchScriptToString(const Sample& sample);

// OK if ExportTorchScript would write the sample; else counts what it cannot write, as far as that
// does not hide other calls. Its error is the first of them.
absl::Status CheckTorchScript(const Sample& sample, MissingCalls* missing);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_TORCHSCRIPT_EXPORTER_H_
