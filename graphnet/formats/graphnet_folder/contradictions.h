// What a sample says of itself that cannot be, though it can be read.
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_CONTRADICTIONS_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_CONTRADICTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// How inputs and attributes are drawn: a lower bound above the upper one, a bound or mean
// that is nan, a std that is negative or infinite. And the keys of graph_net.json that have
// a meaning: values of another type. Each finding begins with its place: file and line if
// `folder` is the GraphNet folder that the sample was read from, else the name.
absl::StatusOr<std::vector<std::string>> FindContradictions(const Sample& sample,
                                                            const std::string& folder);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_CONTRADICTIONS_H_
