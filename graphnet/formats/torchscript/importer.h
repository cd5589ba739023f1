// Reads TorchScript archives (`torch.jit.save`): scripted and traced modules.
//
//   ASSIGN_OR_RETURN(Sample sample, ImportTorchScriptFile("resnet18.pt"));
//
// Needs LibTorch to link, but not to compile against.
#ifndef GRAPHNET_FORMATS_TORCHSCRIPT_IMPORTER_H_
#define GRAPHNET_FORMATS_TORCHSCRIPT_IMPORTER_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/shared_bytes.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

struct TorchScriptImportOptions {
  // Do not ask CheckTorchScriptArchive (gate.h). LibTorch runs code that an
  // archive brings while it loads it: only for archives of known origin.
  bool trust = false;
  std::string method = "forward";
  // Fill Sample::weights with the real values of the attributes.
  bool weights = true;
};

// The sample is named after the file. Messages start with the path.
//
// What the inputs of a module are, no archive says by itself. A file saved with it does, a line
// an input in the words of inputs/example_input.h:
//
//   torch.jit.save(module, "m.pt", _extra_files={"graphnet_inputs": "image=f32[1,3,224,224]"})
absl::StatusOr<Sample> ImportTorchScriptFile(const std::string& path,
                                             const TorchScriptImportOptions& options = {});

// Reads an archive in memory. `name` stands for the path in messages.
absl::StatusOr<Sample> ImportTorchScript(absl::string_view bytes, const std::string& name,
                                         const TorchScriptImportOptions& options = {});
// Those of a file that is mapped give their memory back as they are read.
absl::StatusOr<Sample> ImportTorchScript(const SharedBytes& bytes, const std::string& name,
                                         const TorchScriptImportOptions& options = {});

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_TORCHSCRIPT_IMPORTER_H_
