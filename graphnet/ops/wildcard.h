// The kinds of parameters of patterns: in the rules of passes/pattern.h and in the definitions of
// fused operators.
#ifndef GRAPHNET_OPS_WILDCARD_H_
#define GRAPHNET_OPS_WILDCARD_H_

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "graphnet/ir/argument.h"
#include "graphnet/ir/graph.h"
#include "graphnet/ir/node.h"

namespace graphnet {

enum class Wildcard { kValue, kLiteral, kAny, kVariadic, kKeywords, kEach };

inline Wildcard WildcardOf(const Node& parameter) {
  if (parameter.annotation() == "literal") return Wildcard::kLiteral;
  if (parameter.annotation() == "any") return Wildcard::kAny;
  if (parameter.annotation() == "variadic") return Wildcard::kVariadic;
  if (parameter.annotation() == "keywords") return Wildcard::kKeywords;
  if (parameter.annotation() == "each") return Wildcard::kEach;
  return Wildcard::kValue;
}

inline bool IsWildcard(const Argument& argument, Wildcard kind) {
  return argument.is_node() && argument.node()->is_placeholder() &&
         WildcardOf(*argument.node()) == kind;
}
inline bool IsVariadic(const Argument& argument) {
  return IsWildcard(argument, Wildcard::kVariadic);
}
inline bool IsKeywords(const Argument& argument) {
  return IsWildcard(argument, Wildcard::kKeywords);
}
// The nodes of a pattern that stand for one value per element of a list: parameters declared "as
// each", and calls that have such a node as an operand outside of a list.
using EachNodes = absl::flat_hash_set<const Node*>;
inline EachNodes EachNodesOf(const Graph& pattern) {
  EachNodes each;
  const auto is_each = [&](const Argument& a) { return a.is_node() && each.contains(a.node()); };
  for (const Node* node : pattern.nodes()) {
    const bool takes_one =
        absl::c_any_of(node->args(), is_each) ||
        absl::c_any_of(node->kwargs(), [&](const KwArg& kwarg) { return is_each(kwarg.value); });
    if (node->is_placeholder() ? WildcardOf(*node) == Wildcard::kEach
                               : node->is_call() && takes_one) {
      each.insert(node);
    }
  }
  return each;
}

// Returns whether `argument` stands for any number of elements of the list that contains it.
inline bool IsSpread(const Argument& argument, const EachNodes& each) {
  return IsVariadic(argument) || (argument.is_node() && each.contains(argument.node()));
}

}  // namespace graphnet

#endif  // GRAPHNET_OPS_WILDCARD_H_
