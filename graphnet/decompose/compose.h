// Puts pieces (range_decomposer.h) together again.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Module> whole, ComposeChain(pieces));
#ifndef GRAPHNET_DECOMPOSE_COMPOSE_H_
#define GRAPHNET_DECOMPOSE_COMPOSE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// One module that does what the pieces do one after the other, each taking by
// position what the one before it returns; names of ports do not matter. Of
// pieces that DecomposeChain made, this is the graph that was cut, node for node,
// with its names and locations; where a name is taken, a node gets a suffix.
//
// Symbols, relations and attributes come in the order of `order_like`, for
// instance the module that was cut; what that lacks, or all if it is null, in the
// order in which the pieces declare it. Bodies of the same name are one, and so are get_attrs of
// the same name and attribute. Inputs of
// `order_like` that nothing uses and the first piece does not take are added.
//
// The pieces must verify. FailedPrecondition, with the number of the piece, if
// one takes another number of values than the one before returns, returns
// something that is no tuple of values, or declares a symbol, attribute or body
// differently from a piece before it. InvalidArgument without pieces.
absl::StatusOr<std::unique_ptr<Module>> ComposeChain(absl::Span<const Sample> pieces,
                                                     const Module* order_like = nullptr);

// The same, where each piece takes by name the values that pieces before it return, from
// the last one that does; what none returns is an input of the graph. The names
// are those of nodes, not the targets of placeholders. The last piece returns what
// the graph returns. Inputs come in the order of `order_like`, which also brings
// those that no piece takes; if it is null, in the order in which the pieces take
// them.
//
// FailedPrecondition also if a piece takes what neither a piece before it returns
// nor `order_like` takes.
absl::StatusOr<std::unique_ptr<Module>> ComposeDag(absl::Span<const Sample> pieces,
                                                   const Module* order_like = nullptr);

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_COMPOSE_H_
