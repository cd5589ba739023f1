// Outputs of a compiled program against those that are expected.
#ifndef GRAPHNET_EVALUATE_COMPARE_OUTPUTS_H_
#define GRAPHNET_EVALUATE_COMPARE_OUTPUTS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/evaluate/sample_result.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// In order.
using Outputs = std::vector<TensorData>;

// Of a file in which they are called "0", "1", …; DataLoss if it is no such file.
absl::StatusOr<Outputs> ReadOutputs(const std::string& path);
// As ReadOutputs, for the content of such a file; `name` is what messages call it.
absl::StatusOr<Outputs> ParseOutputs(absl::string_view bytes, absl::string_view name);

// "float32" and so on, of each.
std::vector<std::string> DTypesOf(const Outputs& outputs);

struct OutputsVerdict {
  Outcome status = Outcome::kCorrect;     // or kNotFinite, kTypeMismatch, kShapeMismatch
  std::string reason;                     // of those, a line
  std::vector<OutputComparison> outputs;  // empty if there is nothing to compare
};

// Numbers are compared as doubles, complex ones by the magnitude of what they differ by; nan is
// never right, an infinity only as itself.
OutputsVerdict CompareOutputs(const Outputs& expected, const Outputs& actual);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_COMPARE_OUTPUTS_H_
