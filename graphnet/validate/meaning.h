// Internal to the validator: decides whether two calls mean the same, however they are written.
#ifndef GRAPHNET_VALIDATE_MEANING_H_
#define GRAPHNET_VALIDATE_MEANING_H_

#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/node.h"

namespace graphnet::validate_internal {

// Returns the key by which operators are counted if the spelling of a call does not matter: the
// name of the callee, which is the same for all its spellings (ops/callable.h). It lives as long as
// the node.
std::pair<Op, absl::string_view> MeaningOf(const Node& node);

// Returns whether `call` does what `original` does. `value_of` maps each operand of `call` to the
// value of the original that it stands for, or to null. The calls mean the same if they call the
// same thing with the same arguments (by position, by keyword, or left out where they are the
// default), or if they lower to the same operators of ATen with the same arguments. Calls that take
// bodies never do.
bool MeansTheSame(const Node& original, const Node& call,
                  absl::FunctionRef<const Node*(const Node*)> value_of);

}  // namespace graphnet::validate_internal

#endif  // GRAPHNET_VALIDATE_MEANING_H_
