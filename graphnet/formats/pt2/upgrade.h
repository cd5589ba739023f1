// Rewrites a program of an older schema of torch.export in ours. Schemas 1 to 6 are those of torch
// 2.1 to 2.4, which PyTorch itself no longer reads.
#ifndef GRAPHNET_FORMATS_PT2_UPGRADE_H_
#define GRAPHNET_FORMATS_PT2_UPGRADE_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "graphnet/formats/pt2/json.h"

namespace graphnet::pt2 {

// Returns the program as JSON of schema 8; nullopt if its schema is 7 or later, or not known, so
// that it is read as it is. InvalidArgument if a part that has to be rewritten is damaged; other
// damage is kept, and the importer finds it. Time and memory are linear in the program.
absl::StatusOr<std::optional<std::string>> UpgradeProgram(Json program);

}  // namespace graphnet::pt2

#endif  // GRAPHNET_FORMATS_PT2_UPGRADE_H_
