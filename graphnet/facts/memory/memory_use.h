// Which values a call may write to, and which ones its result may share memory
// with: upper bounds from one look at a node, for graphs as PyTorch programs are
// written and for lowered ones. Cheaper and coarser than facts/memory/effects.h, which
// lowers the module first. Of an operator that nothing is known of (a call_module,
// one with bodies, a custom one) every operand counts as written and shared.
#ifndef GRAPHNET_FACTS_MEMORY_MEMORY_USE_H_
#define GRAPHNET_FACTS_MEMORY_MEMORY_USE_H_

#include "absl/container/inlined_vector.h"
#include "graphnet/ir/node.h"

namespace graphnet {

struct MemoryUse {
  // Operands, each at least once.
  absl::InlinedVector<Node*, 2> written;
  absl::InlinedVector<Node*, 2> shared;
};

// O(arguments), and a look-up of the target.
MemoryUse MemoryUseOf(const Node& node);

// Whether the value is a tuple or list, which getitems take apart: what the meta
// says; without one, what the schema says; without either, whether nothing but
// getitems with a constant index uses it.
bool YieldsTuple(const Node& node);

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_MEMORY_MEMORY_USE_H_
