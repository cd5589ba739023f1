// Defaults for which Python's bindings of ATen differ from ATen's schemas.
#ifndef GRAPHNET_OPS_BINDING_DEFAULTS_H_
#define GRAPHNET_OPS_BINDING_DEFAULTS_H_

#include "absl/types/span.h"
#include "graphnet/ir/argument.h"
#include "graphnet/ir/node.h"
#include "graphnet/ops/callable.h"

namespace graphnet {

// Returns whether a call omits `reduction` and thereby means 0, no reduction. Bindings read the
// default at::Reduction::Mean as 0; torch.ops does not.
bool LacksReduction(const Callable& callee, absl::Span<const Argument> args,
                    absl::Span<const KwArg> kwargs);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_BINDING_DEFAULTS_H_
