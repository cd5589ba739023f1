// Finds statements of a sample about itself that cannot be true, though the sample can be read.
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_CONTRADICTIONS_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_CONTRADICTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Returns what is wrong with draw specs (a lower bound above the upper one, a bound or mean that is
// nan, a std that is negative or infinite), and the known keys of graph_net.json whose values have
// the wrong type. Each finding begins with its place: file and line if `folder` is the GraphNet
// folder that the sample was read from, else the name.
absl::StatusOr<std::vector<std::string>> FindContradictions(const Sample& sample,
                                                            const std::string& folder);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_CONTRADICTIONS_H_
