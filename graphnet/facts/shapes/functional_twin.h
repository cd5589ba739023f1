// Finds the functional form of an operator that writes: the operator that returns the same value.
#ifndef GRAPHNET_FACTS_SHAPES_FUNCTIONAL_TWIN_H_
#define GRAPHNET_FACTS_SHAPES_FUNCTIONAL_TWIN_H_

#include "graphnet/facts/shapes/facts_table.h"
#include "graphnet/ir/node.h"
#include "graphnet/ops/schema.h"

namespace graphnet {

// Returns aten.add.Tensor for aten.add_.Tensor: the overload of the name without "_" that has the
// same parameters by its schema. For aten.t_ it is the view aten.t. Null if there is none, or if
// `writer` writes to other arguments than the first or resizes its memory.
const Schema* FunctionalTwin(const Schema& writer);

// Returns whether the twin returns a view: then the writer changes how the tensor sees its memory,
// not the content.
bool IsView(const Schema& twin);

// Returns whether a writer may change the sizes of its first argument.
bool ChangesSizes(const Schema& writer);

// Returns whether the twin's result may have another dtype than the tensor that `call` writes to,
// which keeps its own: operands may promote the result, or it is bool.
bool MayChangeDType(const Node& call, const Schema& writer, const FactsTable& facts);

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_SHAPES_FUNCTIONAL_TWIN_H_
