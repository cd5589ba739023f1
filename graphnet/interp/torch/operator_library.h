// Shared libraries of operators that are not PyTorch's, as torch.ops.load_library takes
// them: torchvision's, or one's own with TORCH_LIBRARY.
#ifndef GRAPHNET_INTERP_TORCH_OPERATOR_LIBRARY_H_
#define GRAPHNET_INTERP_TORCH_OPERATOR_LIBRARY_H_

#include <string>

#include "ATen/core/operator_name.h"
#include "absl/status/status.h"

namespace graphnet {

// Loads the library, whose code runs, for the rest of the process. Its operators may then
// run in graphs and programs (IsAllowed in allowed_operators.h). NotFound if there is no
// such file; InvalidArgument, with what the linker says, for what is no library, or was
// built for another LibTorch. Not while graphs run.
absl::Status LoadOperatorLibrary(const std::string& path);

// Whether a library that was loaded so has brought the operator.
bool IsOfLibrary(const c10::OperatorName& name);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_TORCH_OPERATOR_LIBRARY_H_
