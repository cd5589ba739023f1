#include "graphnet/formats/mlir/exporter.h"

#include "absl/status/statusor.h"
#include "graphnet/formats/mlir/writer.h"
#include "graphnet/ir/module.h"

namespace graphnet {

absl::StatusOr<MlirProgram> ExportMlir(const Module& module, const MlirOptions& options,
                                       MissingCalls* missing) {
  absl::StatusOr<MlirProgram> program = mlir::Writer(module, options, missing).Run();
  if (!program.ok() && missing != nullptr && missing->empty())
    AddMissing(program.status(), missing);
  return program;
}

}  // namespace graphnet
