// Reads and writes tensors in the format of torch.save: a zip archive with a pickle and the
// storages to which it refers. The pickle is read as data: nothing that it names is called.
#ifndef GRAPHNET_FORMATS_PT2_PICKLED_TENSORS_H_
#define GRAPHNET_FORMATS_PT2_PICKLED_TENSORS_H_

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/formats/pt2/payloads.h"
#include "graphnet/formats/pt2/tree_spec.h"
#include "graphnet/ir/sample.h"

namespace graphnet::pt2 {

// Reads the one tensor or parameter that was saved. If another object was saved, InvalidArgument
// names its class.
absl::StatusOr<TensorData> ReadPickledTensor(absl::string_view bytes);

// Adds the tensors of a saved dict: maps names such as "l.weight" to their places in `archive`, the
// record of the name `record`. InvalidArgument names an entry without a name, or with another
// value.
absl::Status ReadPickledTable(const SharedBytes& archive, const std::string& record,
                              Payloads* payloads);

// Adds the tensors of a saved dict, and of the dicts in it: that of {"model": {"l.weight": …}} is
// "model.l.weight". Returns how many other values there are.
absl::StatusOr<size_t> ReadPickledTables(const SharedBytes& archive, Payloads* payloads);

// Adds one saved tensor under `name`.
absl::Status ReadPickledEntry(const SharedBytes& archive, const std::string& record,
                              absl::string_view name, Payloads* payloads);

// Reads the leaves of a saved structure in the order of `spec`: tensors, and numbers as 0-d
// tensors. A leaf is nullopt if it is something else or the structure does not follow `spec` there.
absl::StatusOr<std::vector<std::optional<TensorData>>> ReadPickledLeaves(absl::string_view bytes,
                                                                         const TreeSpec& spec);

// A leaf of a structure to save: None, a bool, a number, a string or a tensor.
using SavedLeaf = std::variant<std::monostate, bool, int64_t, double, std::string, TensorData>;
// Returns an archive as torch.save writes it; the inverse of ReadPickledLeaves(). nullopt if `spec`
// has instances of classes, or another number of leaves.
std::optional<std::string> PickleLeaves(const TreeSpec& spec, const std::vector<SavedLeaf>& leaves);

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_PICKLED_TENSORS_H_
