// Checks that inputs satisfy the conditions under which a torch.export program was made.
#ifndef GRAPHNET_FORMATS_PT2_INPUT_CHECK_H_
#define GRAPHNET_FORMATS_PT2_INPUT_CHECK_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Makes the checks that program.module() makes before it runs: of ranks and sizes, of the ranges of
// symbolic sizes, and of their relations when the program was traced (equal, divisible and others).
// `values` maps names of the user's inputs to values; other names, and inputs without a value, are
// ignored. InvalidArgument, in one line, describes the first input that does not fit.
//
// Returns OK for a sample that does not come from such a program (no kProgramFile, importer.h).
absl::Status CheckProgramInputs(const Sample& sample,
                                const std::map<std::string, TensorData>& values);

}  // namespace graphnet

#endif  // GRAPHNET_FORMATS_PT2_INPUT_CHECK_H_
