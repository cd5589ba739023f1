// Overloads that write their results to tensors that they are given, such as aten.add.out.
#ifndef GRAPHNET_OPS_OUT_OVERLOAD_H_
#define GRAPHNET_OPS_OUT_OVERLOAD_H_

#include <optional>

#include "graphnet/ir/node.h"
#include "graphnet/ops/schema.h"

namespace graphnet {

// Returns the schema of a call that writes its results to tensors that it is given, of which the
// table of operators knows only the overload that makes new ones; nullopt for all other calls. The
// given tensors are the last arguments of the schema, one for each result, in their order.
std::optional<Schema> OutOverload(const Node& node);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_OUT_OVERLOAD_H_
