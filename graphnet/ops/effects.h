// What a call does besides yielding its value, as far as its schema tells: which
// values it may write to, and which ones its result may share memory with. For
// graphs as PyTorch programs are written and for lowered ones.
//
// Both are upper bounds. Of an operator that nothing is known of (a call_module,
// one with bodies, a custom one) every operand counts as written and shared.
#ifndef GRAPHNET_OPS_EFFECTS_H_
#define GRAPHNET_OPS_EFFECTS_H_

#include "absl/container/inlined_vector.h"
#include "graphnet/ir/node.h"

namespace graphnet {

struct Effects {
  // Operands, each at least once.
  absl::InlinedVector<Node*, 2> written;
  absl::InlinedVector<Node*, 2> shared;
};

// O(arguments), and a look-up of the target.
Effects EffectsOf(const Node& node);

// Whether the value is a tuple or list, which getitems take apart: what the meta
// says; without one, what the schema says; without either, whether nothing but
// getitems with a constant index uses it.
bool YieldsTuple(const Node& node);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_EFFECTS_H_
