// Which breaks a program will have, told from its code.
//
//   ASSIGN_OR_RETURN(ForetoldBreaks foretold, ForetellBreaks(module));
//
// The program is followed without inputs. Of each value it is known whether it is a constant of
// the program, follows from numbers and metas (dtypes, devices, sizes), or depends on what tensors
// hold. Calls are followed, both branches of an `if` that no constant decides too. Nothing of the
// program runs, but for operators on numbers and texts that are constants, as compilers fold them.
#ifndef GRAPHNET_EXTRACT_FORETELL_H_
#define GRAPHNET_EXTRACT_FORETELL_H_

#include "absl/status/statusor.h"
#include "graphnet/extract/capture_options.h"
#include "graphnet/extract/foretold_break.h"
#include "torch/csrc/jit/api/module.h"

namespace graphnet {

// Foretells what CaptureProgram breaks at, by `method`, `break_on`, `max_unroll` and `max_steps` of
// the options: the last bounds time and memory. Operators and classes that are not PyTorch's count
// as allowed to run. NotFound or InvalidArgument as CaptureProgram has them; errors name the line.
absl::StatusOr<ForetoldBreaks> ForetellBreaks(const torch::jit::Module& module,
                                              const CaptureOptions& options = {});

}  // namespace graphnet

#endif  // GRAPHNET_EXTRACT_FORETELL_H_
