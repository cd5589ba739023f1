// Writes a GraphNet sample folder: all six files, with graph_net.json last, which marks a complete
// folder.
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_WRITER_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_WRITER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/formats/graphnet_folder/reader.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Returns the sample as a folder would hold it, with its module in FolderForm. Unimplemented, with
// the reason, if a folder cannot hold it.
absl::StatusOr<Sample> FolderFormOfSample(const Sample& sample, bool keep_module_paths = false);

// Returns the names and contents of the sample's files.
absl::StatusOr<GraphNetFileMap> GraphNetFiles(const Sample& sample);

// Writes the folder whole or not at all. Replaces an existing folder only if that is a sample or
// empty.
absl::Status WriteGraphNetFolder(const Sample& sample, const std::string& path);
// Like WriteGraphNetFolder, but writes these files, which must include graph_net.json.
absl::Status WriteGraphNetFiles(GraphNetFileMap files, const std::string& path);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_WRITER_H_
