// Checks a TorchScript archive before LibTorch loads it.
//
// torch::jit::load trusts its input: it runs code from the file, accepts
// damaged and contradictory archives, and reads storages beyond their end. This
// check accepts only archives that torch.jit.save could have written. It refuses
//   - archives that ZipReader refuses, content with a wrong CRC, entries
//     that torch.jit.save does not write, and names that differ only in case;
//   - pickles that call anything but the few functions that rebuild tensors and
//     typed containers; classes that the archive's own code does not define,
//     TorchBind classes above all; tensors that reach beyond their storage; and
//     storages whose size differs from that of their entry;
//   - source code that could run while it is loaded, or that the compiler cannot
//     handle (code_check.h).
// Quantised modules are therefore refused, because they have a __setstate__, and
// so are files from before PyTorch 1.4.
//
// LibTorch may still refuse an archive that passes, and the check does not make it
// safe to run the model. LibTorch needs a stack of 8 MiB to load such an archive.
#ifndef GRAPHNET_FORMATS_TORCHSCRIPT_ARCHIVE_CHECK_H_
#define GRAPHNET_FORMATS_TORCHSCRIPT_ARCHIVE_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace graphnet {

// Checks a whole file. `name` appears in messages. Time and memory are linear in
// the size of the archive's content. A refusal is InvalidArgument with one line
// that says where: "m.pt: data.pkl: byte 123: ..." or
// "m.pt: code/__torch__/m.py:12:5: ...".
absl::Status CheckTorchScriptArchive(absl::string_view bytes, absl::string_view name);

// Returns whether the content looks like a TorchScript archive, even a damaged
// one. Other zip archives, such as those of torch.save and torch.export, do not.
bool LooksLikeTorchScript(absl::string_view bytes);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_TORCHSCRIPT_ARCHIVE_CHECK_H_
