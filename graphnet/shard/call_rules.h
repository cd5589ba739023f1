// Rules that say which dimensions of a call's tensors are divided alike: one ShardingRule for each
// family of ATen operators.
#ifndef GRAPHNET_SHARD_CALL_RULES_H_
#define GRAPHNET_SHARD_CALL_RULES_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/facts/shapes/tensor_facts.h"
#include "graphnet/ir/node.h"
#include "graphnet/ops/schema.h"
#include "graphnet/shard/sharding_rule.h"

namespace graphnet::spmd {

// A call of a lowered graph and what is known of its tensors.
struct CallFacts {
  const Node& node;
  const Schema* schema = nullptr;     // null for a function of Python itself
  std::vector<TensorFacts> operands;  // in the order of node.operands()
  TensorFacts result;                 // facts of the one result, or of every element of a list

  CallFacts(const Node& call, std::vector<TensorFacts> operand_facts, TensorFacts result_facts);
  bool has(absl::string_view parameter) const;
  Argument arg(absl::string_view parameter) const;
  // Returns the indices of the operands that are passed to a parameter.
  std::vector<size_t> operands_of(absl::string_view parameter) const;
};

// The rule of a family of operators.
struct CallRule {
  absl::string_view name;
  absl::string_view what;       // dimensions that may be divided, as docs/sharding.md says it
  absl::string_view operators;  // names of ATen operators
  // Returns nullopt if the rule does not apply to the call or too little is known.
  std::optional<ShardingRule> (*rule)(const CallFacts& call);
  // The parameter that takes the sizes of the whole result; each rank needs its local sizes there.
  absl::string_view sizes_parameter;
  // True if elements are added or multiplied in an order that may depend on how many there are.
  bool adds_up = false;
};
// Returns whether a call of an ATen operator draws no random numbers, either always or as it is
// called, such as a dropout in evaluation mode.
bool DrawsNothing(const Node& call);

absl::Span<const CallRule> CallRules();
// Returns nullptr if the call has no rule; its operands must then be replicated, and its results
// are.
const CallRule* FindCallRule(const Node& call);
// Returns the sharding rule of a call; nullopt if it has no CallRule or that rule does not apply.
std::optional<ShardingRule> ShardingRuleOfCall(const CallFacts& call);

}  // namespace graphnet::spmd

#endif  // GRAPHNET_SHARD_CALL_RULES_H_
