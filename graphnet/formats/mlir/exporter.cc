#include "graphnet/formats/mlir/exporter.h"

#include "absl/status/statusor.h"
#include "graphnet/formats/mlir/writer.h"
#include "graphnet/ir/module.h"

namespace graphnet {

absl::StatusOr<MlirProgram> ExportMlir(const Module& module, const MlirOptions& options) {
  return mlir::Writer(module, options).Run();
}

}  // namespace graphnet
