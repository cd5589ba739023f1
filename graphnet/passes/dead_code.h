// Dead-code elimination.
#ifndef GRAPHNET_PASSES_DEAD_CODE_H_
#define GRAPHNET_PASSES_DEAD_CODE_H_

#include <cstddef>

#include "graphnet/ir/module.h"

namespace graphnet {

// Erases what computes values that nobody uses.
//
// Tier: core
//
// Applicable in scenarios where a rewrite or a cut left operators behind, or a
// program computes more than it returns.
//
// When applied, this pass will erase every get_attr and every pure call
// (facts/memory/effects.h) without users, in all graphs, what thereby loses its last
// user, and bodies that nothing refers to any more. What writes to a value, draws
// random numbers, asserts, changes a mode or is unknown stays, as do placeholders.
// Metas and locations of the rest stay as they are.
//
// Options:
// - attributes: with true, attributes that no get_attr of any graph reads go with their values
//
// Performance impact: O(nodes), most of it for finding effects.
//
// Risks and limitations: a call that would fail when it is run goes, and its error with it. A
// write to a value that nobody reads later stays. A call of an operator that nothing is known of
// stays.
//
// Example: a value that nobody uses goes, and so does the value that only it used
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
// Counter-example: nobody uses the value, but the call writes, draws or sets a mode
//   graph @forward(%x) {
//     %v = .view(%x, -1)
//     %z = .zero_(%v)
//     %r = torch.rand([2])
//     %g = torch._C._set_grad_enabled(False)
//     return (%x,)
//   }
//
// Returns how many nodes were erased; those of erased bodies are not counted.
size_t EliminateDeadCode(Module* module);

// Erases the attributes that no get_attr of the module reads; how many.
size_t EraseUnusedAttributes(Module* module);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_DEAD_CODE_H_
