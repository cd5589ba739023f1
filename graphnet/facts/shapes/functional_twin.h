// The operator that yields what another one writes.
#ifndef GRAPHNET_FACTS_SHAPES_FUNCTIONAL_TWIN_H_
#define GRAPHNET_FACTS_SHAPES_FUNCTIONAL_TWIN_H_

#include "graphnet/facts/shapes/facts_table.h"
#include "graphnet/ir/node.h"
#include "graphnet/ops/schema.h"

namespace graphnet {

// aten.add.Tensor of aten.add_.Tensor: the overload of the name without "_" that takes the same,
// by the schemas alone; of aten.t_ the view aten.t. Null when there is none, when `writer` writes
// to more than its first argument, or changes how much memory that has.
const Schema* FunctionalTwin(const Schema& writer);

// Whether the twin yields a view: the writer changes how the tensor sees its memory, not what
// is in it.
bool IsView(const Schema& twin);

// Whether it changes the sizes that its first argument has from there on.
bool ChangesSizes(const Schema& writer);

// Whether what the twin yields may be of another dtype than what `call` writes to, which keeps
// its own: its operands may promote it, or it yields bools.
bool MayChangeDType(const Node& call, const Schema& writer, const FactsTable& facts);

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_SHAPES_FUNCTIONAL_TWIN_H_
