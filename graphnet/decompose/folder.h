// Decompositions on disk.
//
//   RETURN_IF_ERROR(WriteDecomposition(made, "pieces", {}).status());
//   ASSIGN_OR_RETURN(StoredDecomposition stored,
//                    ReadDecomposition("pieces", /*with_weights=*/true));
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

// The form in which each piece is stored.
enum class PieceFormat { kGraphNetFolder, kProtobuf };
// The arrangement of the files, as drawn above.
enum class FolderLayout { kPlain, kPythonGraphNet };

// Options of WriteDecomposition.
struct DecompositionFolderOptions {
  PieceFormat format = PieceFormat::kGraphNetFolder;  // form of each piece
  FolderLayout layout = FolderLayout::kPlain;         // arrangement of the files
};

// Numbers of pieces that WriteDecomposition wrote and found.
struct WriteReport {
  size_t written = 0;  // pieces that were written
  size_t kept = 0;     // pieces that were there already, complete and correct
};

// Writes a decomposition. The folder appears whole or not at all: it is written beside its place
// and renamed. Pieces of the same decomposition that are there already count as kept; if some are
// missing or damaged, the folder is replaced in one step. AlreadyExists, before anything is
// written, if the folder holds anything but these pieces, or another configuration. Unimplemented,
// with the reason, if a GraphNet folder cannot hold a piece.
absl::StatusOr<WriteReport> WriteDecomposition(const Decomposition& made, const std::string& folder,
                                               const DecompositionFolderOptions& options);

// A decomposition that was read.
struct StoredDecomposition {
  // Absent in folders that other programs wrote.
  std::optional<DecomposeConfig> config;
  // The pieces, with names of ports and provenance as ApplyConfig sets them.
  std::vector<Sample> pieces;
};

// Reads a folder of either layout and format. NotFound if there are no pieces; FailedPrecondition
// if a number is missing in their sequence or the configuration has another number of pieces;
// otherwise the error of the first piece that cannot be read.
absl::StatusOr<StoredDecomposition> ReadDecomposition(const std::string& folder, bool with_weights);

// The files of a stored decomposition. FindDecomposition, ReadPiece and ApplyConfig are the steps
// of ReadDecomposition, for a caller that reports every error.
struct DecompositionFiles {
  std::string folder;                     // the folder that holds the pieces
  std::map<int64_t, std::string> pieces;  // names in that folder, by number
  std::string config;                     // path; empty if there is none
};
// Finds the files. NotFound if there are no pieces; FailedPrecondition if two pieces have the same
// number, or there are two configurations.
absl::StatusOr<DecompositionFiles> FindDecomposition(const std::string& folder);
// Returns the number of pieces if all that the configuration lists are there, 0 otherwise.
size_t NumPiecesIfWhole(const std::string& folder);
// Reads the piece at `path` and changes nothing in it.
absl::StatusOr<Sample> ReadPiece(const std::string& path, bool with_weights);
// Gives the ports of the pieces the names that they have in the configuration, since a folder may
// have renamed them, and adds the provenance to pieces that have none.
void ApplyConfig(const DecomposeConfig& config, absl::Span<Sample> pieces);

// Returns the default folder for the pieces of a sample: "resnet18" -> "resnet18_decomposed". The
// ending of a file is removed (formats/formats.h, WithoutEnding).
std::string DecomposedPath(const std::string& sample);

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_FOLDER_H_
