// Finds the values that a call may write to and those that its result may share memory with. These
// are upper bounds from the node alone, for lowered graphs and others. This is cheaper and coarser
// than facts/memory/effects.h, which lowers the module first. For an unknown operator (a
// call_module, one with bodies, a custom one) every operand counts as written and shared.
#ifndef GRAPHNET_FACTS_MEMORY_MEMORY_USE_H_
#define GRAPHNET_FACTS_MEMORY_MEMORY_USE_H_

#include "absl/container/inlined_vector.h"
#include "graphnet/ir/node.h"

namespace graphnet {

// The operands that a call may write to and those that its result may share memory with. An
// operand may be listed more than once.
struct MemoryUse {
  absl::InlinedVector<Node*, 2> written;
  absl::InlinedVector<Node*, 2> shared;
};

// Returns the memory use of any node. O(arguments), plus a look-up of the target.
MemoryUse MemoryUseOf(const Node& node);

// Returns whether a call may change the sizes of an operand in place, as t_ and resize_ do. The
// operand's meta then describes it only before the call.
bool ChangesSizes(const Node& node);

// Returns whether the value is a tuple or list, from which getitems take elements. The meta
// decides; without one, the schema; without either, whether all users are getitems with a constant
// index.
bool YieldsTuple(const Node& node);

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_MEMORY_MEMORY_USE_H_
