// Reads a GraphNet sample folder: model.py, weight_meta.py, input_meta.py,
// input_tensor_constraints.py, graph_net.json and graph_hash.txt. Executes nothing in it.
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_READER_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_READER_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Returns whether the folder has a graph_net.json, the marker that a writer of samples puts last.
bool IsGraphNetFolder(const std::string& path);

// Returns whether a writer of samples writes a file of this name, whatever the sample.
bool IsGraphNetFile(absl::string_view name);

// Returns the verified sample, named after the folder. Errors name the file and, if there is one,
// the line and column. Refuses symbolic links in the folder.
absl::StatusOr<Sample> ReadGraphNetFolder(const std::string& path);

// The contents of files by name.
using GraphNetFileMap = std::map<std::string, std::string>;
// Like ReadGraphNetFolder, but takes the files from memory. `path` names them in messages and gives
// the sample its name.
absl::StatusOr<Sample> ParseGraphNetFiles(const GraphNetFileMap& files, const std::string& path);

// Returns the verified module of model.py and weight_meta.py alone. `folder` names them in
// messages.
absl::StatusOr<std::unique_ptr<Module>> ParseGraphNetModel(const std::string& model_py,
                                                           const std::string& weight_meta_py,
                                                           const std::string& folder);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_READER_H_
