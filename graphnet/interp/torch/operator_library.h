// Loads shared libraries of operators that are not PyTorch's, as torch.ops.load_library
// does: torchvision's, or one's own with TORCH_LIBRARY.
#ifndef GRAPHNET_INTERP_TORCH_OPERATOR_LIBRARY_H_
#define GRAPHNET_INTERP_TORCH_OPERATOR_LIBRARY_H_

#include <string>

#include "ATen/core/operator_name.h"
#include "absl/status/status.h"

namespace graphnet {

// Loads the library for the rest of the process; its code runs. Its operators may then
// run in graphs and programs (IsAllowed in allowed_operators.h). NotFound if there is no
// such file; InvalidArgument, with the linker's message, if it is not a library or was
// built for another LibTorch. Do not call it while graphs run.
absl::Status LoadOperatorLibrary(const std::string& path);

// Returns true if the operator comes from a library that LoadOperatorLibrary loaded.
bool IsOfLibrary(const c10::OperatorName& name);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_TORCH_OPERATOR_LIBRARY_H_
