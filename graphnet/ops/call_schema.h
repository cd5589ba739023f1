// What PyTorch declares of a call: its parameters, their defaults, and what it writes to.
//
//   ASSIGN_OR_RETURN(const Argument eps, ArgOf(*node, "eps"));   // however the call passes it
//   ASSIGN_OR_RETURN(const Schema* schema, SchemaOf(*node));
//   const bool writes = schema->mutates();
#ifndef GRAPHNET_OPS_CALL_SCHEMA_H_
#define GRAPHNET_OPS_CALL_SCHEMA_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/argument.h"
#include "graphnet/ir/node.h"
#include "graphnet/ops/binder.h"
#include "graphnet/ops/schema.h"

namespace graphnet {

// Returns the schema of the overload that a call takes. If the target names none, that is the first of
// its overloads that the arguments fit, as in PyTorch; the metas of operands help to choose. It lives as
// long as the program. NotFound for a node that is no call, and for a target without a schema, such as
// operator.add or an unknown function; InvalidArgument if no overload takes the arguments.
absl::StatusOr<const Schema*> SchemaOf(const Node& call);

// Returns the arguments of a call by parameter: bound["eps"], with defaults, and bound.schema(). It
// points to the arguments of the call and owns lists that the call does not write as lists, as in
// x.view(2, 3). The errors are those of SchemaOf.
absl::StatusOr<BoundCall> BindCall(const Node& call);

// Returns the argument that a call passes for a parameter, by position or by keyword, or else its
// default; None if the default is no constant. It belongs to the module of the call. The errors are those
// of SchemaOf; NotFound, with a similar name, if there is no such parameter; FailedPrecondition if the
// call does not write a list as a list, for which BindCall is there.
absl::StatusOr<Argument> ArgOf(const Node& call, absl::string_view parameter);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_CALL_SCHEMA_H_
