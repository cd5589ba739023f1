// Dead-code elimination.
#ifndef GRAPHNET_PASSES_DEAD_CODE_H_
#define GRAPHNET_PASSES_DEAD_CODE_H_

#include <cstddef>

#include "graphnet/ir/module.h"

namespace graphnet {

// Erases computations of unused values.
//
// Tier: core
//
// Applicable in scenarios where a rewrite or a cut left operators behind, or a
// program computes more than it returns.
//
// When applied, this pass will erase, in all graphs, every get_attr and every pure call
// (facts/memory/effects.h) without users, then those that lose their last user by that, and bodies
// that nothing refers to any more. Calls that write to a value, draw random numbers, assert, change
// a mode or are unknown stay, and so do placeholders. Metas and locations of the rest stay as they
// are.
//
// Options:
// - attributes: with true, attributes that no get_attr of any graph reads go with their values
//
// Performance impact: O(nodes), most of it for finding effects.
//
// Risks and limitations: if an erased call would have failed, its error is gone, too. A write to a
// value that is not read later stays. So does a call of an unknown operator.
//
// Example: an unused value goes, and so does the value that only it used
//   graph @forward(%x) {
//     %a = torch.exp(%x)
//     %b = torch.neg(%a)
//     %c = .add_(%x, 1)
//     return (%x,)
//   }
//   becomes
//   graph @forward(%x) {
//     %c = .add_(%x, 1)
//     return (%x,)
//   }
//
// Example: an attribute that nothing reads
//   attributes=true
//   attribute a : f32[2]
//   attribute b : f32[2]
//   graph @forward(%x) {
//     %a = get_attr a
//     %b = get_attr b
//     %y = torch.add(%x, %a)
//     return (%y,)
//   }
//   becomes
//   attribute a : f32[2]
//   graph @forward(%x) {
//     %a = get_attr a
//     %y = torch.add(%x, %a)
//     return (%y,)
//   }
//
// Counter-example: the value is unused, but the call writes, draws or sets a mode
//   graph @forward(%x) {
//     %v = .view(%x, -1)
//     %z = .zero_(%v)
//     %r = torch.rand([2])
//     %g = torch._C._set_grad_enabled(False)
//     return (%x,)
//   }
//
// Returns how many nodes were erased, not counting those of erased bodies.
size_t EliminateDeadCode(Module* module);

// Erases the attributes that no get_attr of the module reads; returns how many.
size_t EraseUnusedAttributes(Module* module);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_DEAD_CODE_H_
