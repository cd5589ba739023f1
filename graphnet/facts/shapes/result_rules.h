// The rows of results.txt: what operators of ATen yield, and how they are batched.
#ifndef GRAPHNET_FACTS_SHAPES_RESULT_RULES_H_
#define GRAPHNET_FACTS_SHAPES_RESULT_RULES_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ops/schema.h"

namespace graphnet {

struct ResultRule {
  absl::string_view sizes = "-";  // a word that SizesOfResult knows
  // How many dimensions there are where that says nothing, or how many more than those of the
  // first tensor.
  std::optional<int> rank;
  bool adds_rank = false;
  absl::string_view type = "-";  // one that TypeOfResult knows
  absl::string_view batching = "-";
};

// Returns the rule of operator `name`; "name_", which works in place, has that of "name". Any thread.
const ResultRule& ResultRuleOf(absl::string_view name);
// Whether an operator works element by element, and yields one tensor.
bool IsPointwise(const Schema& schema);
// "abs" of "absolute"; the name itself of what is no other name of an operator.
absl::string_view CommonName(absl::string_view name);
// Reads "<sizes> <dtype> <batching>" as results.txt has it. An error names a word that no rule has.
absl::StatusOr<ResultRule> ParseResultRule(absl::string_view words);
// Gives operator "mylib::gain" a rule, for good. Any thread.
void AddResultRule(absl::string_view name, const ResultRule& rule);
// All operators that results.txt names.
std::vector<absl::string_view> OperatorsWithRules();

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_SHAPES_RESULT_RULES_H_
