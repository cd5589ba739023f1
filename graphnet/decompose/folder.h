// Decompositions on disk.
//
//   RETURN_IF_ERROR(WriteDecomposition(made, "pieces", {}).status());
//   ASSIGN_OR_RETURN(StoredDecomposition stored, ReadDecomposition("pieces", /*with_weights=*/true));
//
// There are two layouts:
//
//   kPlain:           DIR/subgraph_0/ … (GraphNet folders) or DIR/subgraph_0.pb …, and
//                     DIR/decompose_config.json or DIR/decompose_config.pb
//   kPythonGraphNet:  DIR/_decomposed/<model>_0/ …, as Python GraphNet has it, and the
//                     configuration beside them
//
// A decomposition appears whole or not at all.
#ifndef GRAPHNET_DECOMPOSE_FOLDER_H_
#define GRAPHNET_DECOMPOSE_FOLDER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graphnet/decompose/decomposer.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

enum class PieceFormat { kGraphNetFolder, kProtobuf };
enum class FolderLayout { kPlain, kPythonGraphNet };

struct DecompositionFolderOptions {
  PieceFormat format = PieceFormat::kGraphNetFolder;
  FolderLayout layout = FolderLayout::kPlain;
};

struct WriteReport {
  size_t written = 0;
  size_t kept = 0;  // whole and right already
};

// The folder appears whole or not at all: it is written beside its place and renamed. What
// is there already of the same decomposition counts as kept; if some of it is missing or
// damaged, the folder is replaced in one step. AlreadyExists, before anything is written, if
// the folder holds anything but these pieces or another configuration. Unimplemented, with
// the reason, for what a GraphNet folder cannot hold.
absl::StatusOr<WriteReport> WriteDecomposition(const Decomposition& made, const std::string& folder,
                                               const DecompositionFolderOptions& options);

struct StoredDecomposition {
  // Absent in folders that others wrote.
  std::optional<DecomposeConfig> config;
  // With the names of values and the provenance that the configuration tells.
  std::vector<Sample> pieces;
};

// Of either layout and format. NotFound if there are no pieces; FailedPrecondition
// if one is missing in their sequence or there are not as many as the configuration
// says; else the error of the first piece that cannot be read.
absl::StatusOr<StoredDecomposition> ReadDecomposition(const std::string& folder, bool with_weights);

// The same step by step, for who wants to know all that is wrong.
struct DecompositionFiles {
  std::string folder;                     // that the pieces lie in
  std::map<int64_t, std::string> pieces;  // their names there, by number
  std::string config;                     // path; empty if there is none
};
// NotFound if there are no pieces; FailedPrecondition if two have one number, or there
// are two configurations.
absl::StatusOr<DecompositionFiles> FindDecomposition(const std::string& folder);
// As it lies there.
absl::StatusOr<Sample> ReadPiece(const std::string& path, bool with_weights);
// Calls the ports of the pieces as the configuration does, as a folder may have had to
// rename them, and adds the provenance where there is none.
void ApplyConfig(const DecomposeConfig& config, absl::Span<Sample> pieces);

// "resnet18" -> "resnet18_decomposed". A file has no ending here (formats/formats.h, WithoutEnding).
std::string DecomposedPath(const std::string& sample);

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_FOLDER_H_
