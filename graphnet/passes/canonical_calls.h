// Gives calls that can be written in ATen in several ways one canonical form.
#ifndef GRAPHNET_PASSES_CANONICAL_CALLS_H_
#define GRAPHNET_PASSES_CANONICAL_CALLS_H_

#include "graphnet/ir/module.h"

namespace graphnet {

// Rewrites all graphs of a lowered module. Values stay as they are if they share memory that is
// written to or that a call reads the strides of. docs/hash.md lists the rules: each
// keeps every value, but may change strides and which values share memory.
void CanonicalizeCalls(Module* module);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_CANONICAL_CALLS_H_
