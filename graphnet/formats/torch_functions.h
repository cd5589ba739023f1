// The functions of LibTorch that formats ask for. A program that links it, or opens a library that does, says where
// these functions are; without them everything else works.
#ifndef GRAPHNET_FORMATS_TORCH_FUNCTIONS_H_
#define GRAPHNET_FORMATS_TORCH_FUNCTIONS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/base/shared_bytes.h"
#include "graphnet/ir/missing_calls.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

class TorchFunctions {
 public:
  // Reads an archive of torch.jit.save (formats/torchscript/importer.h). `trust` lets it in
  // without a check.
  virtual absl::StatusOr<Sample> ImportTorchScript(const SharedBytes& bytes,
                                                   const std::string& name, bool trust,
                                                   bool weights) const = 0;
  // Writes one (formats/torchscript/exporter.h).
  virtual absl::StatusOr<std::string> ExportTorchScript(const Sample& sample) const = 0;
  // Whether it would be written. Calls that cannot be are counted in `missing`.
  virtual absl::Status CheckTorchScript(const Sample& sample, MissingCalls* missing) const = 0;
  // Fills in the shape and dtype of each value, on inputs that are drawn (interp/shapes.h).
  virtual absl::Status InferShapes(Sample* sample) const = 0;

 protected:
  ~TorchFunctions() = default;  // They are never destroyed.
};

using TorchOpener = absl::StatusOr<const TorchFunctions*> (*)();

// Sets the function that finds them. It is called when a format first needs them, from any thread,
// and may fail. To be called before that.
void SetTorchFunctions(TorchOpener opener);

// FailedPrecondition, with what helps, if the program has none.
absl::StatusOr<const TorchFunctions*> OpenTorchFunctions();

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_TORCH_FUNCTIONS_H_
