// The tables of a module (symbols, relations, attributes) when it is cut into
// pieces and put together again.
#ifndef GRAPHNET_DECOMPOSE_TABLES_H_
#define GRAPHNET_DECOMPOSE_TABLES_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// Declares in each piece, whose graphs are complete, what its nodes use of
// `parent`'s tables, in the parent's order: the attributes that its get_attrs
// read; the symbols that its metas, arguments and attributes mention; the
// relations among them, with the further symbols that those mention. What no
// piece uses goes to the first, so that nothing is lost. O(sizes of the pieces
// and the tables).
void DistributeTables(const Module& parent, absl::Span<Module* const> pieces);

// Declares in `module` what any piece declares. The order is that of
// `order_like` (may be null), then that of first declaration.
// FailedPrecondition if two pieces declare something differently.
absl::Status MergeTables(absl::Span<const Module* const> pieces, const Module* order_like,
                         Module* module);

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_TABLES_H_
