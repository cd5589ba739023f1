// What sort of thing the target of a call is, and whether it is public API.
#ifndef GRAPHNET_OPS_TARGET_H_
#define GRAPHNET_OPS_TARGET_H_

#include <string>

#include "absl/strings/string_view.h"
#include "graphnet/ir/node.h"

namespace graphnet {

enum class TargetKind {
  kNone,         // no call: placeholder, get_attr, output
  kFunction,     // torch.conv2d, aten.conv2d.default, math.floor
  kMethod,       // of Tensor
  kOperator,     // Python's: operator.add
  kHigherOrder,  // takes graphs: torch.cond
  kConstructor,  // makes a value of no tensor: torch.zeros, torch.tensor
  kModule,
};
absl::string_view TargetKindName(TargetKind kind);
TargetKind KindOfTarget(const Node& node);

// Whether a component of the name begins with an underscore, as in torch._C._nn:
// PyTorch promises nothing of it.
bool IsPrivateTarget(absl::string_view target);
// The public function that a private one is behind, by PyTorch's own naming:
// torch._C._nn.linear is torch.nn.functional.linear, torch._C._fft.fft_rfft is
// torch.fft.rfft. Empty if there is none, or the target is public.
std::string StableTarget(absl::string_view target);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_TARGET_H_
