// Validates a decomposition on disk: one of ours, in either form, or one that Python GraphNet
// wrote.
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

// Options of ValidateFolder.
struct FolderValidationOptions {
  // A configuration to use instead of the one beside the pieces; empty: that one.
  std::string config_file;
  // Compare real values of parameters, which lie beside the protobuf form. The original must have
  // been read with its weights.
  bool weights = false;
};

// The findings of ValidateFolder, and what it compared.
struct FolderValidation {
  ValidationReport report;
  // The input of a numeric validation: the original in the form that the pieces have, and the
  // pieces in order, with parts cut from the original for those that are missing. `pieces` is empty
  // if some cannot be read; `options` says how they take values from each other.
  Sample original;
  std::unique_ptr<Module> with_metas;  // the original's own module if `original` has another form
  std::vector<Sample> pieces;
  StructureOptions options;
};

// Runs the checks of ValidateStructure, and before them:
//
// E1: there are pieces, numbered from 0 without gaps, and each can be read: it is a complete folder
//     or a file with all its bytes. graph_hash.txt is the hash of the piece.
// E2: the configuration can be read and is of this graph; its scheme yields the ranges that it
//     lists; each piece has the operators and the ports that it lists. Without a configuration,
//     pieces that say which graph they are from must have one; other pieces need not.
//
// Pieces in folders have no attributes, and their names can be spelled in Python, so the original
// is converted to that form first (FolderForm). If a configuration leaves operators out, or pieces
// are called <name>_start<S>_end<E>_<i>, the ranges that no piece covers are cut from the original,
// so that the other pieces can be validated, and are noted.
//
// Without a configuration, pieces chain by position if each takes as many values as the one before
// returns and no name says otherwise. If not, values are bound by name; the inputs whose names
// nothing has are, in order, the values of the piece before that are not taken by name. Names
// inside pieces then mean nothing, and metas only have to agree where both sides have them.
//
// Returns an error only if `config_file` cannot be read or the original has no folder form.
absl::StatusOr<FolderValidation> ValidateFolder(Sample original, const std::string& folder,
                                                const FolderValidationOptions& options = {});

}  // namespace graphnet

#endif  // GRAPHNET_VALIDATE_FOLDER_H_
