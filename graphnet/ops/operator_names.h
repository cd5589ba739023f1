// Tells PyTorch's names of operators and functions from others, including names without a schema in
// the tables.
#ifndef GRAPHNET_OPS_OPERATOR_NAMES_H_
#define GRAPHNET_OPS_OPERATOR_NAMES_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace graphnet {

// The origin of a target.
enum class TargetOrigin : uint8_t {
  kPyTorch,  // PyTorch has it
  kMissing,  // it is in a namespace of PyTorch's, but PyTorch has no such name
  kOther,    // it is in another namespace
};

// Returns the origin of a target in torch.export's form: "torch.ops.aten.add.out",
// "torch.ops.mine.add.default", "_operator.mul", "math.floor", "torch.sym_max". Any target with a
// private component counts as PyTorch's, since PyTorch has many private functions.
TargetOrigin OriginOfTarget(absl::string_view target);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_OPERATOR_NAMES_H_
