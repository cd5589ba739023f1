// Writes a Python file that runs a sample without graphnet.
#ifndef GRAPHNET_VIEW_COMMANDS_RUNNABLE_PYTHON_H_
#define GRAPHNET_VIEW_COMMANDS_RUNNABLE_PYTHON_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Returns the functions of runnable.py, which are appended to the model.py of a GraphNet folder.
absl::string_view RunnableTail();

// Writes `path`, which is the sample's model.py with functions that run it, and `path`.safetensors,
// the weights and inputs by the names of its arguments. Missing values are drawn as in `graphnet
// run`; a line on stderr says how many weights are drawn. TorchScript's lists and conditions are
// evaluated for the shapes of the inputs, as torch.export does. InvalidArgument for an input that
// is neither a tensor nor a number, or that is not described well enough; Unimplemented, with the
// reason, for a sample that a GraphNet folder cannot hold.
absl::Status WriteRunnablePython(Sample sample, const std::string& path);

}  // namespace graphnet

#endif  // GRAPHNET_VIEW_COMMANDS_RUNNABLE_PYTHON_H_
