// Internal to the validator: whether two calls mean the same, however they are written.
#ifndef GRAPHNET_VALIDATE_MEANING_H_
#define GRAPHNET_VALIDATE_MEANING_H_

#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/node.h"

namespace graphnet::validate_internal {

// What operators are counted by where the spelling of a call is no matter: the name of what is
// called, the same for all its spellings (ops/callable.h). It lives as long as the node.
std::pair<Op, absl::string_view> MeaningOf(const Node& node);

// Whether `call`, of which an operand stands for the value that `value_of` says (null: for none),
// does what `original` does: a call of the same thing with the same arguments, by position, by
// keyword or left out where they are the default; or one that lowers to the same operators of
// ATen with the same arguments. Calls that take bodies are never the same.
bool MeansTheSame(const Node& original, const Node& call,
                  absl::FunctionRef<const Node*(const Node*)> value_of);

}  // namespace graphnet::validate_internal

#endif  // GRAPHNET_VALIDATE_MEANING_H_
