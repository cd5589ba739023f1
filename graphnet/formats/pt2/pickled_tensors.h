// Tensors that torch.save wrote: a zip archive with a pickle and the storages that it refers
// to. The pickle is read as data, and nothing that it names is called.
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

// The one tensor or parameter that was saved. InvalidArgument names the class of what is
// something else.
absl::StatusOr<TensorData> ReadPickledTensor(absl::string_view bytes);

// Adds the tensors of a dict that was saved: "l.weight" to where its elements lie in `archive`,
// which `record`, its name, calls. InvalidArgument names what has no name or is no tensor.
absl::Status ReadPickledTable(const SharedBytes& archive, const std::string& record,
                              Payloads* payloads);

// The leaves of a structure that was saved, in the order of `spec`: tensors, and numbers as
// 0-d tensors; nullopt for others, and for what is not where the spec has it.
absl::StatusOr<std::vector<std::optional<TensorData>>> ReadPickledLeaves(absl::string_view bytes,
                                                                         const TreeSpec& spec);

// What the leaf of a structure is that is saved: a tensor, None, or a number or text.
using SavedLeaf = std::variant<std::monostate, bool, int64_t, double, std::string, TensorData>;
// The inverse of the latter, an archive as torch.save writes it. nullopt for instances of classes
// in `spec`.
std::optional<std::string> PickleLeaves(const TreeSpec& spec, const std::vector<SavedLeaf>& leaves);

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_PICKLED_TENSORS_H_
