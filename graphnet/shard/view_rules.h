// Sharding rules of the calls that give the elements of a tensor another order or other sizes, or
// take some of them. call_rules.h has the table that names them.
#ifndef GRAPHNET_SHARD_VIEW_RULES_H_
#define GRAPHNET_SHARD_VIEW_RULES_H_

#include <cstddef>
#include <optional>

#include "absl/types/span.h"
#include "graphnet/shard/call_rules.h"
#include "graphnet/shard/sharding_rule.h"

namespace graphnet::spmd {

// Each returns nullopt if too little is known of the call.
std::optional<ShardingRule> Permute(const CallFacts& call);
std::optional<ShardingRule> Transpose(const CallFacts& call);
std::optional<ShardingRule> MoveDim(const CallFacts& call);
std::optional<ShardingRule> Reshape(const CallFacts& call);
std::optional<ShardingRule> Flatten(const CallFacts& call);
std::optional<ShardingRule> Squeeze(const CallFacts& call);
std::optional<ShardingRule> Unsqueeze(const CallFacts& call);
std::optional<ShardingRule> Expand(const CallFacts& call);
std::optional<ShardingRule> Repeat(const CallFacts& call);
std::optional<ShardingRule> Slice(const CallFacts& call);
std::optional<ShardingRule> Subscript(const CallFacts& call);

// Defined in call_rules.cc, for these rules.
//
// Returns a rule in which nothing is divided yet.
ShardingRule StartRule(const CallFacts& call);
// Returns the sizes of an operand; null if they are not known.
const Sizes* SizesOf(const CallFacts& call, size_t operand);
// Rule of a call whose operands all broadcast to the result.
std::optional<ShardingRule> PointwiseRule(const CallFacts& call);
// Rule of a call that keeps the dimensions `whole` of the first operand whole. The results have the
// same dimensions, without `whole` if `drop`. Other operands are replicated.
std::optional<ShardingRule> KeepDims(const CallFacts& call, absl::Span<const size_t> whole,
                                     bool drop = false);

}  // namespace graphnet::spmd

#endif  // GRAPHNET_SHARD_VIEW_RULES_H_
