// Where a change of the gradient mode cannot matter.
#ifndef GRAPHNET_PASSES_GRADIENT_MODE_H_
#define GRAPHNET_PASSES_GRADIENT_MODE_H_

#include "graphnet/ir/module.h"

namespace graphnet {

// Whether the call sets the gradient mode: torch._C._set_grad_enabled(False).
bool SetsGradientMode(const Node& node);

// Erases the calls that set the gradient mode to a constant and after which, up to
// the next one, no call runs that might record a gradient or ask for the mode: one
// with an operand that is, or was made from, a parameter or a value of unknown
// origin, one with bodies, or one named after gradients. A graph starts with
// gradients enabled, and the mode that it leaves behind stays. Returns how many were
// erased. O(nodes).
size_t EraseIdleGradientModes(Module* module);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_GRADIENT_MODE_H_
