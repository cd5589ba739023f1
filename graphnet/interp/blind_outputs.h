// Tells for the outputs of a run whether a wrong answer would have passed as one of them
// (inputs/wrong_answers.h), and repairs samples of which this is true.
#ifndef GRAPHNET_INTERP_BLIND_OUTPUTS_H_
#define GRAPHNET_INTERP_BLIND_OUTPUTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ATen/core/ivalue.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "graphnet/base/tolerance.h"
#include "graphnet/interp/inputs/wrong_answers.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Returns the tolerance of outputs of a dtype.
using ToleranceOfDType = absl::FunctionRef<Tolerance(DType)>;
// Within these tolerances, outputs must be equal. Zeros and -0 are.
Tolerance ExactTolerance(DType dtype);
// The tolerances of benchmarks at t = -5.
Tolerance CustomaryTolerance(DType dtype);

// Returns the wrong answer that passes as each output; none for values that are no tensors. The
// main graph of `module` returned `outputs` for the inputs and weights `values`.
absl::StatusOr<std::vector<WrongAnswer>> BlindOutputs(
    const std::vector<c10::IValue>& outputs, const Module& module,
    const std::map<std::string, TensorData>& values, ToleranceOfDType tolerance);

// The result of running a sample on values that are drawn for it.
struct DrawnRun {
  std::vector<WrongAnswer> answers;  // for each output, at t = -5
  bool is_finite = true;             // no output has nan or infinity

  // Returns whether a comparison of the outputs proves something about each of them.
  bool sees_all() const;
};
absl::StatusOr<DrawnRun> RunDrawn(const Sample& sample, uint64_t seed);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_BLIND_OUTPUTS_H_
