// What `graphnet run` does with an extracted program.
#ifndef GRAPHNET_CLI_RUN_STITCHED_H_
#define GRAPHNET_CLI_RUN_STITCHED_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Runs the program in `folder` and yields its outputs by name: o0, o1, …. `given`:
// tensors of inputs by name, `x`, or `x.0` for the first one of a structure; the
// others are drawn as the subgraphs say.
absl::StatusOr<std::map<std::string, TensorData>> RunStitchedFolder(
    const std::string& folder, const std::map<std::string, TensorData>& given, uint64_t seed);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_RUN_STITCHED_H_
