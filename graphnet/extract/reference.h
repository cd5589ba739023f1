// Runs a program by LibTorch itself, to check captures.
#ifndef GRAPHNET_EXTRACT_REFERENCE_H_
#define GRAPHNET_EXTRACT_REFERENCE_H_

#include <string>
#include <vector>

#include "ATen/core/ivalue.h"
#include "absl/status/statusor.h"
#include "graphnet/extract/capture.h"
#include "torch/csrc/jit/api/module.h"

namespace graphnet {

// Runs the method on `inputs` as torch::jit does, under no_grad unless it asks for gradients, and
// without the optimisations, which round differently. Its output is discarded. Fails if any path of
// the program has an operator that capturing would not run.
absl::StatusOr<c10::IValue> RunByLibTorch(const torch::jit::Module& module,
                                          std::vector<c10::IValue> inputs,
                                          const CaptureOptions& options = {});

// Describes the first leaf that differs in kind, dtype, sizes or bits, such as "result 1: Double[2]
// instead of Float[2]"; empty if no leaf differs.
std::string DifferenceOf(const c10::IValue& expected, const c10::IValue& found);

}  // namespace graphnet

#endif  // GRAPHNET_EXTRACT_REFERENCE_H_
