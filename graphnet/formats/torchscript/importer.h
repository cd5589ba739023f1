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

// Options of ImportTorchScript.
struct TorchScriptImportOptions {
  // Skips CheckTorchScriptArchive (archive_check.h). Only for archives of known
  // origin: LibTorch runs code from an archive while it loads it.
  bool trust = false;
  // The method to import.
  std::string method = "forward";
  // Fills Sample::weights with the real values of the attributes.
  bool weights = true;
};

// Reads an archive from a file. The sample is named after the file. Errors start with the path.
//
// An archive does not describe the inputs of its module by itself. An extra file in it can, with
// one line per input in the notation of inputs/example_input.h:
//
//   torch.jit.save(module, "m.pt", _extra_files={"graphnet_inputs": "image=f32[1,3,224,224]"})
absl::StatusOr<Sample> ImportTorchScriptFile(const std::string& path,
                                             const TorchScriptImportOptions& options = {});

// Reads an archive in memory. `name` takes the place of the path in errors.
absl::StatusOr<Sample> ImportTorchScript(absl::string_view bytes, const std::string& name,
                                         const TorchScriptImportOptions& options = {});
// Like the above. The bytes of a mapped file give their memory back as they are read.
absl::StatusOr<Sample> ImportTorchScript(const SharedBytes& bytes, const std::string& name,
                                         const TorchScriptImportOptions& options = {});

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_TORCHSCRIPT_IMPORTER_H_
