// Whether inputs are such as a program of torch.export was made for.
#ifndef GRAPHNET_FORMATS_PT2_INPUT_CHECK_H_
#define GRAPHNET_FORMATS_PT2_INPUT_CHECK_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// As program.module() checks its arguments before it runs: ranks and sizes, those that are
// symbolic within their ranges and equal, divisible or otherwise related as the program was
// traced with. `values`: by the names of the user's inputs; others are passed over, and so are
// inputs without a value. InvalidArgument, one line, for the first that does not fit.
//
// OK for samples that do not come from such a program (no kProgramFile, importer.h).
absl::Status CheckProgramInputs(const Sample& sample,
                                const std::map<std::string, TensorData>& values);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_PT2_INPUT_CHECK_H_
