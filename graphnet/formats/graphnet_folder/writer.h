// Writes a GraphNet sample folder: all six files, graph_net.json last as the
// completion marker.
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_WRITER_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_WRITER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/formats/graphnet_folder/reader.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// The sample as a folder holds it: its module in FolderForm. Unimplemented, with
// the reason, if a folder cannot.
absl::StatusOr<Sample> FolderFormOfSample(const Sample& sample, bool keep_module_paths = false);

// Names and contents.
absl::StatusOr<GraphNetFileMap> GraphNetFiles(const Sample& sample);

// The folder appears whole or not at all; one that is there is replaced only if
// it is a sample itself (or empty).
absl::Status WriteGraphNetFolder(const Sample& sample, const std::string& path);
// Ditto, of these files, graph_net.json among them.
absl::Status WriteGraphNetFiles(GraphNetFileMap files, const std::string& path);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_WRITER_H_
