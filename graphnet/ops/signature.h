// Signature: the parameters of a function that PyTorch defines in Python.
#ifndef GRAPHNET_OPS_SIGNATURE_H_
#define GRAPHNET_OPS_SIGNATURE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/argument.h"

namespace graphnet {

struct Parameter {
  absl::string_view name;
  bool has_default = false;
  bool keyword_only = false;
  bool is_variadic = false;  // *tensors
  Argument default_value;    // None, bool, int, float or string
};

struct Signature {
  absl::string_view name;  // "torch.nn.functional.relu"
  std::vector<Parameter> parameters;
};

// A line of signatures.txt: "torch.nn.functional.relu(input, inplace=False)".
// The signature points into `line`.
absl::StatusOr<Signature> ParseSignature(absl::string_view line);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_SIGNATURE_H_
