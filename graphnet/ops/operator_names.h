// Which names of operators and functions PyTorch has, also of those that no table describes.
#ifndef GRAPHNET_OPS_OPERATOR_NAMES_H_
#define GRAPHNET_OPS_OPERATOR_NAMES_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace graphnet {

enum class TargetOrigin : uint8_t {
  kPyTorch,  // PyTorch has it
  kMissing,  // it is called like one of PyTorch's, which has none of that name
  kOther,    // it is in a namespace of somebody else
};

// The origin of a target as programs of torch.export have it: "torch.ops.aten.add.out",
// "torch.ops.mine.add.default", "_operator.mul", "math.floor", "torch.sym_max". PyTorch's private
// functions are many: any target with a private component counts as PyTorch's.
TargetOrigin OriginOfTarget(absl::string_view target);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_OPERATOR_NAMES_H_
