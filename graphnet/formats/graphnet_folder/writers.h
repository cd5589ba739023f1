// The writers of the Python files of a sample. `module` must be in FolderForm (see
// folder_form.h) and verified.
#ifndef GRAPHNET_FORMATS_GRAPHNET_FOLDER_WRITERS_H_
#define GRAPHNET_FORMATS_GRAPHNET_FOLDER_WRITERS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/formats/graphnet_folder/framework.h"
#include "graphnet/formats/graphnet_folder/parsers.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// Returns model.py. It is valid Python that PyTorch, or Paddle, runs, and ParseModelPy reads it
// back as the same module. Values are released after their last use, as torch.fx prints them.
std::string WriteModelPy(const Module& module, Framework framework);

// Returns weight_meta.py or input_meta.py. Fails if a symbolic dimension has no value at the
// example values of its symbols.
absl::StatusOr<std::string> WriteMetaPy(const Module& module, MetaFile kind, Framework framework);

// Appends a literal or bound as records spell it: "0", "0.500000", "True".
void AppendMetaNumber(const Argument& number, std::string* out);

// Returns input_tensor_constraints.py. Empty if the sample has no constraints.
std::string WriteConstraintsPy(const Module& module, bool has_constraints,
                               const std::vector<std::string>& order);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_WRITERS_H_
