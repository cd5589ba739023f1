// TorchScript's operators on lists, dicts and texts, computed where what they hold is known.
#ifndef GRAPHNET_FORMATS_PT2_EXPORT_CONTAINERS_H_
#define GRAPHNET_FORMATS_PT2_EXPORT_CONTAINERS_H_

#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/arena.h"
#include "graphnet/formats/pt2/export_value.h"

namespace graphnet::pt2 {

// `name` is that of the operator, "insert" of "aten.insert.t". Changes the lists and dicts that
// TorchScript changes; nullopt for what it does not know. An error where TorchScript raises.
absl::StatusOr<std::optional<ExportValue>> ComputeContainer(absl::string_view name,
                                                            absl::Span<const ExportValue> args,
                                                            Arena* arena);

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_EXPORT_CONTAINERS_H_
