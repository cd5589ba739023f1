// The commands that run graphs or programs, as their files in graphnet/cli declare them.
#ifndef GRAPHNET_CLI_ENGINE_COMMANDS_H_
#define GRAPHNET_CLI_ENGINE_COMMANDS_H_

#include <string>

#include "absl/status/statusor.h"
#include "graphnet/cli/engine.h"

namespace graphnet {

absl::StatusOr<int> RunGraphs(const RunFlags& options);
absl::StatusOr<int> DiffRunGraphs(const DiffRunFlags& options);
absl::StatusOr<int> ShowShapes(const ShapesFlags& options);
absl::StatusOr<int> ExtractProgram(const ExtractFlags& options);
absl::StatusOr<int> ServeWorker(const std::string& backend);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_ENGINE_COMMANDS_H_
