// Reads a GraphNet sample folder: model.py, weight_meta.py, input_meta.py,
// input_tensor_constraints.py, graph_net.json, graph_hash.txt. Nothing in it is
// executed.
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_READER_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_READER_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// A folder is a sample if it has a graph_net.json, the marker that its writer
// puts last.
bool IsGraphNetFolder(const std::string& path);

// The verified sample, named after the folder. Errors name the file and, where
// it has one, the line and column. Symbolic links in the folder are refused.
absl::StatusOr<Sample> ReadGraphNetFolder(const std::string& path);

// The same from the contents of the files, by name; `path` serves messages and
// gives the sample its name.
using GraphNetFileMap = std::map<std::string, std::string>;
absl::StatusOr<Sample> ParseGraphNetFiles(const GraphNetFileMap& files, const std::string& path);

// From model.py and weight_meta.py alone: the verified module.
absl::StatusOr<std::unique_ptr<Module>> ParseGraphNetModel(const std::string& model_py,
                                                           const std::string& weight_meta_py,
                                                           const std::string& folder);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_READER_H_
