// The functions of LibTorch that formats use. A program that links LibTorch, or opens a library
// that does, registers them here. Without them, everything else still works.
#ifndef GRAPHNET_FORMATS_TORCH_FUNCTIONS_H_
#define GRAPHNET_FORMATS_TORCH_FUNCTIONS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/base/shared_bytes.h"
#include "graphnet/ir/missing_calls.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// The functions that a library with LibTorch implements.
class TorchFunctions {
 public:
  // Reads an archive of torch.jit.save (formats/torchscript/importer.h). With `trust`, it is not
  // checked first; with `weights`, the values of attributes are read too.
  virtual absl::StatusOr<Sample> ImportTorchScript(const SharedBytes& bytes,
                                                   const std::string& name,
                                                   const std::string& method, bool trust,
                                                   bool weights) const = 0;
  // Returns the bytes of such an archive (formats/torchscript/exporter.h). Adds to `notes`, unless
  // it is null.
  virtual absl::StatusOr<std::string> ExportTorchScript(const Sample& sample,
                                                        std::vector<std::string>* notes) const = 0;
  // Returns OK if ExportTorchScript would write the sample. Counts in `missing` the calls that it
  // cannot write.
  virtual absl::Status CheckTorchScript(const Sample& sample, MissingCalls* missing) const = 0;
  // Draws inputs and fills in the shape and dtype of each value (interp/shapes.h).
  virtual absl::Status InferShapes(Sample* sample) const = 0;

 protected:
  ~TorchFunctions() = default;  // Objects of this class are never destroyed.
};

// A function that returns them, or says why it cannot.
using TorchOpener = absl::StatusOr<const TorchFunctions*> (*)();

// Registers the function that returns them. Every OpenTorchFunctions calls it, from any thread.
void SetTorchFunctions(TorchOpener opener);

// Sets and returns the method that is read from an archive of TorchScript whose path names none:
// `forward` unless a program sets another one before it loads. "m.pt#encode" names one.
void SetTorchScriptMethod(const std::string& method);
std::string TorchScriptMethod();

// Returns the functions of the program. FailedPrecondition, with advice, if it registered none.
absl::StatusOr<const TorchFunctions*> OpenTorchFunctions();

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_TORCH_FUNCTIONS_H_
