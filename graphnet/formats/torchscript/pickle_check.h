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
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/formats/archive/pickle_reader.h"

namespace graphnet {

// Returns the size in bytes of the entry that holds a storage, or nullopt if there is
// none.
using StorageSize = absl::FunctionRef<std::optional<uint64_t>(absl::string_view key)>;

// Returns whether a text can be the name of a storage: "0", or "0.storage" in archives for mobile
// devices.
bool IsStorageKey(absl::string_view key);

// Checks data.pkl and constants.pkl. Returns whether objects have a state that only __setstate__
// understands. A refusal is InvalidArgument("byte <offset>: ...").
absl::StatusOr<bool> CheckValuePickle(const Pickle& pickle, StorageSize storage_size);

// Checks a .debug_pkl, the table of source positions, in either of its two forms. LibTorch indexes
// it without checking bounds.
absl::Status CheckDebugPickle(const Pickle& pickle);

// Returns the total length in bytes of the strings in each element of the root, a tuple.
std::vector<uint64_t> StringBytes(const Pickle& pickle);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_TORCHSCRIPT_PICKLE_CHECK_H_
