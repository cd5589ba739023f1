// Writes a GraphNet sample folder: all six files, with graph_net.json last, which marks a complete
// folder.
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_WRITER_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_WRITER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/formats/graphnet_folder/reader.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Returns the sample as a folder would hold it, with its module in FolderForm. Unimplemented, with
// the reason, if a folder cannot hold it.
absl::StatusOr<Sample> FolderFormOfSample(const Sample& sample, bool keep_module_paths = false);

// Returns the names and contents of the sample's files. Adds to `notes`, unless it is null, the inputs
// that have other names there, and the weights that are not there as nothing reads them.
absl::StatusOr<GraphNetFileMap> GraphNetFiles(const Sample& sample,
                                              std::vector<std::string>* notes = nullptr);

// Returns whether an entry at this path in the folder of a sample comes from a writer of samples, or
// from Python, which leaves __pycache__ where model.py was run.
bool IsSampleEntry(absl::string_view path, bool is_folder);

// Writes the folder whole or not at all. An existing folder is replaced if it is empty, or if it is
// a sample of which every file is written anew. If a sample holds anything else, such as images,
// weights or folders, only the files of the new sample are replaced, each of them whole, with
// graph_net.json as the last one, and everything else stays as it is. Any other folder is refused.
absl::Status WriteGraphNetFolder(const Sample& sample, const std::string& path,
                                 std::vector<std::string>* notes = nullptr);
// Like WriteGraphNetFolder, but writes these files, which must include graph_net.json.
absl::Status WriteGraphNetFiles(GraphNetFileMap files, const std::string& path);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_WRITER_H_
