// Which dimensions of the tensors of a call are divided alike: a rule for each family of
// operators of ATen, in the form of a ShardingRule.
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
  const Schema* schema = nullptr;     // null: of Python itself
  std::vector<TensorFacts> operands;  // by node.operands()
  TensorFacts result;                 // of one, or of all elements of a list

  CallFacts(const Node& call, std::vector<TensorFacts> operand_facts, TensorFacts result_facts);
  bool has(absl::string_view parameter) const;
  Argument arg(absl::string_view parameter) const;
  // Indices of the operands that a parameter is given.
  std::vector<size_t> operands_of(absl::string_view parameter) const;
};

struct CallRule {
  absl::string_view name;
  absl::string_view what;       // what may be divided, a line of docs/sharding.md
  absl::string_view operators;  // of ATen, by name
  // None where the call is not of the kind that the rule is for, or too little is known.
  std::optional<ShardingRule> (*rule)(const CallFacts& call);
  // A parameter of sizes of the result, which are those of the whole: a rank has others.
  absl::string_view sizes_parameter;
  // Elements are added up (or multiplied), in an order that may follow how many there are.
  bool adds_up = false;
};
// Whether an operator of ATen draws no random numbers, be it that it could, as a dropout that is
// none in evaluation.
bool DrawsNothing(const Node& call);

absl::Span<const CallRule> CallRules();
// Null: all of its tensors must be replicated, and its results are.
const CallRule* FindCallRule(const Node& call);
// Of a call; none without a rule, or when the rule has none.
std::optional<ShardingRule> ShardingRuleOfCall(const CallFacts& call);

}  // namespace graphnet::spmd

#endif  // GRAPHNET_SHARD_CALL_RULES_H_
