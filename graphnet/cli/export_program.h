// The program that torch.export would make of a sample, in the forms that compilers read.
#ifndef GRAPHNET_CLI_EXPORT_PROGRAM_H_
#define GRAPHNET_CLI_EXPORT_PROGRAM_H_

#include <string>

#include "absl/status/statusor.h"
#include "graphnet/formats/mlir/exporter.h"
#include "graphnet/formats/pt2/exporter.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// An archive of torch.export (`flat_calls`: PreparePt2). What vmap maps is written out, and shapes
// that are not known are found first.
absl::StatusOr<Pt2Archive> ExportPt2Program(const Sample& sample, bool flat_calls = false);

// A TorchScript archive, without regions that have no effect; what vmap maps is written out.
absl::StatusOr<std::string> ExportTorchScriptProgram(const Sample& sample);

// Regions without effect are inlined. Writes become values, those to inputs and attributes further
// results, and of several ways to write a call one is taken.
absl::StatusOr<MlirProgram> ExportMlirProgram(const Sample& sample);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_EXPORT_PROGRAM_H_
