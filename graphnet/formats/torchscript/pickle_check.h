// Internal: checks the pickles of a TorchScript archive. LibTorch's unpickler trusts
// its input; after this check it can only rebuild plain values, objects of the
// archive's own classes, and tensors that lie within their storage.
#ifndef GRAPHNET_FORMATS_TORCHSCRIPT_PICKLE_CHECK_H_
#define GRAPHNET_FORMATS_TORCHSCRIPT_PICKLE_CHECK_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graphnet/formats/archive/pickle_reader.h"

namespace graphnet {

// Returns the size in bytes of the entry that holds a storage, or nullopt if there is
// none. The key is a decimal number.
using StorageSize = absl::FunctionRef<std::optional<uint64_t>(absl::string_view key)>;

// Checks data.pkl, constants.pkl and traced_inputs.pkl. With
// `storages_may_be_empty`, the entry of a storage may be empty:
// torch.jit.save omits the data of traced inputs. A refusal is
// InvalidArgument("byte <offset>: ...").
absl::Status CheckValuePickle(const Pickle& pickle, StorageSize storage_size,
                              bool storages_may_be_empty);

// Checks a .debug_pkl, the table of source positions. LibTorch indexes it without
// checking bounds.
absl::Status CheckDebugPickle(const Pickle& pickle);

// Returns the total length in bytes of the strings in each element of the root, a tuple.
std::vector<uint64_t> StringBytes(const Pickle& pickle);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_TORCHSCRIPT_PICKLE_CHECK_H_
