// Writes weight_meta.py, input_meta.py and input_tensor_constraints.py.
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_META_WRITER_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_META_WRITER_H_

#include <string>

#include "absl/status/statusor.h"
#include "graphnet/formats/graphnet_folder/meta_parser.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// The records of one of the two files. `module` must be in FolderForm. Fails if a
// symbolic dimension has no value at the example values of its symbols.
absl::StatusOr<std::string> WriteMetaPy(const Module& module, MetaFile kind);

// Empty when the sample has no constraints.
std::string WriteConstraintsPy(const Module& module, bool has_constraints,
                               const std::vector<std::string>& order);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_META_WRITER_H_
