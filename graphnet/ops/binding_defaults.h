// Defaults that Python's bindings of ATen read otherwise than its schemas say.
#ifndef GRAPHNET_OPS_BINDING_DEFAULTS_H_
#define GRAPHNET_OPS_BINDING_DEFAULTS_H_

#include "absl/types/span.h"
#include "graphnet/ir/argument.h"
#include "graphnet/ir/node.h"
#include "graphnet/ops/callable.h"

namespace graphnet {

// Whether a call means reduction = 0 as it says nothing: bindings read the default
// at::Reduction::Mean as 0, which is none; torch.ops does not.
bool LacksReduction(const Callable& callee, absl::Span<const Argument> args,
                    absl::Span<const KwArg> kwargs);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_BINDING_DEFAULTS_H_
