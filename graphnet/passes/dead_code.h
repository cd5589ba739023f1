// Dead-code elimination.
#ifndef GRAPHNET_PASSES_DEAD_CODE_H_
#define GRAPHNET_PASSES_DEAD_CODE_H_

#include <cstddef>

#include "graphnet/ir/module.h"

namespace graphnet {

// Erases what computes values that nobody uses.
//
// Applicable in scenarios where a rewrite or a cut left operators behind, or a
// program computes more than it returns.
//
// When applied, this pass will erase every get_attr and every pure call
// (ops/effects.h) without users, in all graphs, and what thereby loses its last
// user. What writes to a value, draws random numbers, asserts, changes a mode or
// is unknown stays, as do placeholders. Metas and locations of the rest stay as
// they are. O(nodes).
//
// Example:
//   graph @forward(%x) {              graph @forward(%x) {
//     %a = torch.exp(%x)                %c = .add_(%x, 1)
//     %b = torch.neg(%a)                return (%x,)
//     %c = .add_(%x, 1)               }
//     return (%x,)
//   }
//
// Returns how many nodes were erased.
size_t EliminateDeadCode(Module* module);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_DEAD_CODE_H_
