// Compares the outputs of a compiled program with the expected ones.
#ifndef GRAPHNET_EVALUATE_COMPARE_OUTPUTS_H_
#define GRAPHNET_EVALUATE_COMPARE_OUTPUTS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/evaluate/sample_result.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// The outputs of a program, in order.
using Outputs = std::vector<TensorData>;

// Reads the outputs from a .safetensors file that calls them "0", "1", …; DataLoss if it is not
// one.
absl::StatusOr<Outputs> ReadOutputs(const std::string& path);

// Returns the dtype of each output, such as "float32".
std::vector<std::string> DTypesOf(const Outputs& outputs);

// The result of a comparison.
struct OutputsVerdict {
  Outcome status = Outcome::kCorrect;     // or kNotFinite, kTypeMismatch, kShapeMismatch
  std::string reason;                     // of a failure, one line
  std::vector<OutputComparison> outputs;  // empty if they could not be compared
};

// Compares numbers as doubles, and complex numbers by the magnitude of their difference. nan is
// never right, and an infinity equals only itself.
OutputsVerdict CompareOutputs(const Outputs& expected, const Outputs& actual);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_COMPARE_OUTPUTS_H_
