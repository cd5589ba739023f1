// Joins pieces (range_decomposer.h) into one module again.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Module> whole, ComposeChain(pieces));
#ifndef GRAPHNET_DECOMPOSE_COMPOSE_H_
#define GRAPHNET_DECOMPOSE_COMPOSE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Returns one module that runs the pieces one after the other. Each piece takes, by position, what
// the piece before it returns; names of ports do not matter. Pieces that DecomposeChain made give
// the graph that was cut, node for node, with its names and locations. If a name is taken, the
// node gets a suffix.
//
// Symbols, relations and attributes come in the order of `order_like`, for instance the module
// that was cut. Entries that it lacks, or all entries if it is null, come in the order in which the
// pieces declare them. Bodies of the same name become one, and so do get_attrs of the same name and
// attribute. Inputs of `order_like` that nothing uses and the first piece does not take are added.
//
// The pieces must verify. FailedPrecondition, with the number of the piece, if a piece takes
// another number of values than the one before it returns, or values of another dtype, rank, size
// or device, returns something other than a tuple of
// values, or declares a symbol, attribute or body differently from a piece before it.
// InvalidArgument if there are no pieces.
absl::StatusOr<std::unique_ptr<Module>> ComposeChain(absl::Span<const Sample> pieces,
                                                     const Module* order_like = nullptr);

// Like ComposeChain, but joins by name: each piece takes a value from the last piece before it that
// returns a value of that name. A value that no earlier piece returns is an input of the graph. The
// names are those of nodes, not the targets of placeholders. The last piece returns what the graph
// returns. Inputs come in the order of `order_like`, which also adds its unused inputs; if it is
// null, they come in the order in which the pieces take them.
//
// FailedPrecondition also if `order_like` is given and a piece takes a value that neither an
// earlier piece returns nor `order_like` has as an input.
absl::StatusOr<std::unique_ptr<Module>> ComposeDag(absl::Span<const Sample> pieces,
                                                   const Module* order_like = nullptr);

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_COMPOSE_H_
