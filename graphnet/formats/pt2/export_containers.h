// Computes TorchScript's operators on lists, dicts and strings whose content is known.
#ifndef GRAPHNET_FORMATS_PT2_EXPORT_CONTAINERS_H_
#define GRAPHNET_FORMATS_PT2_EXPORT_CONTAINERS_H_

#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/base/arena.h"
#include "graphnet/formats/pt2/export_value.h"

namespace graphnet::pt2 {

// Returns the operator's result; nullopt for an operator or operands that it cannot compute. `name`
// is "insert" for "aten.insert.t". Changes the lists and dicts that TorchScript changes. Returns an
// error where TorchScript raises.
absl::StatusOr<std::optional<ExportValue>> ComputeContainer(absl::string_view name,
                                                            absl::Span<const ExportValue> args,
                                                            Arena* arena);

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_EXPORT_CONTAINERS_H_
