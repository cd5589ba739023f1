// The functions on constants that rows of paddle_rules.txt may call, such as axes(dim).
#ifndef GRAPHNET_PADDLE_RULE_FUNCTIONS_H_
#define GRAPHNET_PADDLE_RULE_FUNCTIONS_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/arena.h"
#include "graphnet/ir/argument.h"

namespace graphnet {

// Returns Paddle's form of a constant of PyTorch; lists are made in the arena. Unimplemented if the
// constant has no such form, with the reason.
using RuleFunction = absl::StatusOr<Argument> (*)(const Argument& of, Arena& arena);

// Returns null if no function has this name.
const RuleFunction* FindRuleFunction(absl::string_view name);

}  // namespace graphnet

#endif  // GRAPHNET_PADDLE_RULE_FUNCTIONS_H_
