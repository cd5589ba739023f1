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

// model.py: valid Python that PyTorch, or Paddle, runs, and that ParseModelPy reads back to the
// same module. Values are released after their last use, as torch.fx prints them.
std::string WriteModelPy(const Module& module, Framework framework);

// The records of weight_meta.py or input_meta.py. Fails if a symbolic dimension has no
// value at the example values of its symbols.
absl::StatusOr<std::string> WriteMetaPy(const Module& module, MetaFile kind, Framework framework);

// A literal or bound as records have it: "0", "0.500000", "True".
void AppendMetaNumber(const Argument& number, std::string* out);

// input_tensor_constraints.py. Empty when the sample has no constraints.
std::string WriteConstraintsPy(const Module& module, bool has_constraints,
                               const std::vector<std::string>& order);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_GRAPHNET_FOLDER_WRITERS_H_
