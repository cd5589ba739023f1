// The invariants of the IR. A message names the number of the invariant, the graph and the node.
//
//   RETURN_IF_ERROR(Verify(*sample.module));
//
//  1. A module has a first graph; graph names are non-empty and unique.
//  2. The nodes of a graph are linked both ways, belong to it and are live, and their order keys
//     strictly increase.
//  3. Node names are non-empty, at most kMaxNameBytes long and unique in the
//     graph.
//  4. Placeholders come first, take no arguments, and their targets are unique
//     in the graph.
//  5. A graph has exactly one output node; it is last, has one argument, no
//     keywords and no uses.
//  6. An operand is a live node of the same graph that comes before its user.
//  7. The uses of a value are exactly the operands that refer to it.
//  8. Targets are non-empty; a call_method has a first argument; keyword names
//     are non-empty and unique in a call.
//  9. A graph argument refers to a graph of the same module; no graph reaches
//     itself; every graph but the first is referred to. Bodies may be shared.
// 10. A get_attr takes no arguments and names an attribute of the module.
// 11. A shape has at most kMaxRank dimensions, none of which is negative. The product of those
//     that are neither zero nor symbolic is at most kMaxTensorElements.
// 12. Symbol names are non-empty; expressions mention only declared symbols; a relation is a
//     comparison at its top and nowhere else; a dimension or an argument is not a comparison.
// 13. Arguments, expressions and bodies nest at most kMaxNesting deep, so that code that follows
//     them may recurse; the keys of a dict hold no nodes.
// 14. Only placeholders have draw specs; literal data has as many elements as
//     the shape (with the example values of the symbols).
// 15. With each shared part written out wherever it is referred to, the arguments of a node hold
//     at most kMaxWrittenOut values, and an expression holds at most kMaxTerms terms
//     (shared_walk.h), so that code may write them out, too.
#ifndef GRAPHNET_IR_VERIFIER_H_
#define GRAPHNET_IR_VERIFIER_H_

#include <optional>

#include "absl/status/status.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// Returns OK, or FailedPrecondition with the first violation. O(size of the module), where each
// shared part counts once.
absl::Status Verify(const Module& module);

// Returns the value of `expr` with the example values of the module's symbols; nullopt if a symbol
// has no example, or on overflow or division by zero. Each shared part is evaluated once, without
// recursion.
std::optional<int64_t> EvaluateWithExamples(const Module& module, const SymExpr& expr);

}  // namespace graphnet

#endif  // GRAPHNET_IR_VERIFIER_H_
