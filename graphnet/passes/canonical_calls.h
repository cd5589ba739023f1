// Of several ways to write a call in ATen, one.
#ifndef GRAPHNET_PASSES_CANONICAL_CALLS_H_
#define GRAPHNET_PASSES_CANONICAL_CALLS_H_

#include "graphnet/ir/module.h"

namespace graphnet {

// In all graphs of a module that is lowered; where memory is written to, and before calls that
// ask for strides, what shares that memory stays as it is. docs/hash.md lists the rules: each
// keeps every value, though not which values share memory nor their strides.
void CanonicalizeCalls(Module* module);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_CANONICAL_CALLS_H_
