// A file of Python that runs a sample by itself.
#ifndef GRAPHNET_CLI_RUNNABLE_PYTHON_H_
#define GRAPHNET_CLI_RUNNABLE_PYTHON_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// The functions of runnable.py, which follow the model.py of a GraphNet folder.
absl::string_view RunnableTail();

// Writes `path`, the model.py of the sample and functions that run it, and `path`.safetensors, the
// weights and inputs by the names of its arguments. What the sample has no values of is drawn as
// `graphnet run` draws it; a line on stderr says how many weights are. InvalidArgument for an input
// that is no tensor and no number, or of which too little is known; Unimplemented, with the reason,
// for a sample that a GraphNet folder cannot hold. What TorchScript does with lists and conditions
// is computed for the shapes of the inputs, as torch.export does.
absl::Status WriteRunnablePython(Sample sample, const std::string& path);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_RUNNABLE_PYTHON_H_
