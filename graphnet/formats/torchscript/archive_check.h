// Checks a TorchScript archive before LibTorch loads it.
//
// torch::jit::load trusts its input: it runs code from the file, accepts
// damaged and contradictory archives, and reads storages beyond their end. This
// check accepts only archives that some release of PyTorch could have written and that another tool
// may have packed anew. It refuses
//   - archives that ZipReader refuses, content with a wrong CRC, deflated entries that together
//     take far more memory than the archive, and names that differ only in case from those that
//     LibTorch reads;
//   - pickles that call anything but the few functions that rebuild tensors and
//     typed containers; classes that the archive's own code does not define,
//     TorchBind classes above all, but for the packed parameters of quantised layers; tensors
//     that reach beyond their storage or have not a scale for each channel; and storages whose
//     size differs from that of their entry;
//   - source code that could run while it is loaded, or that the compiler cannot
//     handle (code_check.h).
// Entries that LibTorch does not read may have any name and content.
//
// LibTorch may still refuse an archive that passes, and the check does not make it
// safe to run the model. LibTorch needs a stack of 8 MiB to load such an archive.
#ifndef GRAPHNET_FORMATS_TORCHSCRIPT_ARCHIVE_CHECK_H_
#define GRAPHNET_FORMATS_TORCHSCRIPT_ARCHIVE_CHECK_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphnet {

// An archive that passed the check.
struct CheckedArchive {
  // OK if the tables of source positions, where there are any, are of a known form. Otherwise
  // LibTorch must not read them, as it would follow their indices out of bounds.
  absl::Status positions;
  // Classes of the archive have __setstate__, or objects are packed parameters. LibTorch would run
  // their code while it loads the archive, so LoadWithState (state_loader.h) must do it.
  bool has_state = false;
};

// Checks a whole file. `name` appears in messages. Time and memory are linear in
// the size of the archive's content. A refusal is InvalidArgument with one line
// that says where: "m.pt: data.pkl: byte 123: ..." or
// "m.pt: code/__torch__/m.py:12:5: ...".
absl::StatusOr<CheckedArchive> CheckTorchScriptArchive(absl::string_view bytes,
                                                       absl::string_view name);

// Returns whether the content looks like a TorchScript archive, even a damaged
// one. Other zip archives, such as those of torch.save and torch.export, do not.
bool LooksLikeTorchScript(absl::string_view bytes);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_TORCHSCRIPT_ARCHIVE_CHECK_H_
