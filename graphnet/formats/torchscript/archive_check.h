// What a TorchScript archive has to pass before LibTorch sees it.
//
// torch::jit::load trusts its input: it runs code from the file, accepts
// damaged and contradictory archives, and reads storages beyond their end. The
// check accepts only what torch.jit.save writes and refuses the rest:
//   - archives that ZipReader refuses, any content with a wrong CRC, entries
//     that torch.jit.save does not write, names that differ only in case;
//   - pickles that call anything but the few functions that rebuild tensors and
//     typed containers; classes other than those of the archive's own code,
//     TorchBind classes above all; tensors that reach beyond their storage, and
//     storages whose size differs from that of their entry;
//   - source code that could run when it is loaded, or that the compiler cannot
//     take (code_check.h).
// So quantised modules are refused, for their __setstate__, as are files from
// before PyTorch 1.4.
//
// What passes may still be refused by LibTorch, and running the model is
// another matter. LibTorch needs a stack of 8 MiB to load what passes.
#ifndef GRAPHNET_FORMATS_TORCHSCRIPT_ARCHIVE_CHECK_H_
#define GRAPHNET_FORMATS_TORCHSCRIPT_ARCHIVE_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace graphnet {

// Checks a whole file; `name` is for messages. Time and memory are linear in
// what the archive holds. A refusal is InvalidArgument with one line that says
// where: "m.pt: data.pkl: byte 123: ..." or
// "m.pt: code/__torch__/m.py:12:5: ...".
absl::Status CheckTorchScriptArchive(absl::string_view bytes, absl::string_view name);

// Whether the content is meant to be a TorchScript archive, even a damaged one;
// other zip archives, such as those of torch.save and torch.export, are not.
bool LooksLikeTorchScript(absl::string_view bytes);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_TORCHSCRIPT_ARCHIVE_CHECK_H_
