// What the parameters of a pattern stand for, as its reader and its matcher know it.
#ifndef GRAPHNET_PASSES_WILDCARD_H_
#define GRAPHNET_PASSES_WILDCARD_H_

#include "graphnet/ir/node.h"

namespace graphnet {

enum class Wildcard { kValue, kLiteral, kAny, kVariadic, kKeywords };

inline Wildcard WildcardOf(const Node& parameter) {
  if (parameter.annotation() == "literal") return Wildcard::kLiteral;
  if (parameter.annotation() == "any") return Wildcard::kAny;
  if (parameter.annotation() == "variadic") return Wildcard::kVariadic;
  if (parameter.annotation() == "keywords") return Wildcard::kKeywords;
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
inline bool IsSequence(const Argument& argument) {
  return argument.is_list() || argument.is_tuple();
}

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_WILDCARD_H_
