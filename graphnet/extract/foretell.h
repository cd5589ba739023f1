// Foretells the breaks of a program from its code.
//
//   ASSIGN_OR_RETURN(ForetoldBreaks foretold, ForetellBreaks(module));
//
// The program is followed without inputs. Each value is known to be a constant of the program, to
// follow from numbers and metas (dtypes, devices, sizes), or to depend on the data of tensors.
// Calls are followed, and so are both branches of an `if` unless a constant decides it. The program
// does not run, except for operators on constant numbers and strings, which are folded.
#ifndef GRAPHNET_EXTRACT_FORETELL_H_
#define GRAPHNET_EXTRACT_FORETELL_H_

#include "absl/status/statusor.h"
#include "graphnet/extract/capture_options.h"
#include "graphnet/extract/foretold_break.h"
#include "torch/csrc/jit/api/module.h"

namespace graphnet {

// Foretells where CaptureProgram breaks the graph. Of the options, only `method`, `break_on`,
// `max_unroll` and `max_steps` count; the last bounds time and memory. Operators and classes that
// are not PyTorch's count as allowed to run. Refuses the methods that CaptureProgram refuses, with
// NotFound or InvalidArgument; errors name the line.
absl::StatusOr<ForetoldBreaks> ForetellBreaks(const torch::jit::Module& module,
                                              const CaptureOptions& options = {});

}  // namespace graphnet

#endif  // GRAPHNET_EXTRACT_FORETELL_H_
