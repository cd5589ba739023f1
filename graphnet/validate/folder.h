// Validates a decomposition as it lies on disk: ours, of either form, or one that
// Python GraphNet wrote.
#ifndef GRAPHNET_VALIDATE_FOLDER_H_
#define GRAPHNET_VALIDATE_FOLDER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/ir/sample.h"
#include "graphnet/validate/report.h"
#include "graphnet/validate/structure.h"

namespace graphnet {

struct FolderValidationOptions {
  // Takes the place of the one beside the pieces; empty: that one.
  std::string config_file;
  // Compare real values of parameters, which lie beside the protobuf form. The original
  // must have been read with them.
  bool weights = false;
};

struct FolderValidation {
  ValidationReport report;
  // What was compared, for who wants to run it: the original in the form that the
  // pieces have, the pieces in their order, with what was cut out for those that are
  // not there, and how they take values from each other. No pieces if some cannot be
  // read.
  Sample original;
  std::unique_ptr<Module> with_metas;  // its own, where `original` is another form; may be null
  std::vector<Sample> pieces;
  StructureOptions options;
};

// The checks of ValidateStructure, and before them
//
// E1: there are pieces, numbered from 0 without gaps, and each can be read: a whole
//     folder, a file whose bytes are all there. graph_hash.txt is the hash of the
//     piece.
// E2: the configuration can be read and is of this graph; its scheme yields the ranges
//     it lists; each piece has the operators and the ports it says. Without one, pieces
//     that say of what graph they are must have one; those of others need not.
//
// Pieces in folders have no attributes, and names that Python can spell: the original
// is brought into that form first (FolderForm). Where a configuration leaves operators
// out, or pieces call themselves <name>_start<S>_end<E>_<i>, the ranges that are in no
// piece are cut from the original, to validate the others with, and noted.
//
// Without a configuration, pieces chain by position where each takes as many values
// as the one before returns and no name says otherwise; else values are bound by
// name, and what a piece calls by a name that nothing has is, in order, what the one
// before returns and no one takes by name. Names inside pieces then mean nothing, and
// metas only have to agree where both sides say something.
//
// An error only if `config_file` cannot be read or the original has no folder form.
absl::StatusOr<FolderValidation> ValidateFolder(Sample original, const std::string& folder,
                                                const FolderValidationOptions& options = {});

}  // namespace graphnet

#endif  // GRAPHNET_VALIDATE_FOLDER_H_
