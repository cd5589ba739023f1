// The rows of results.txt: dtype, sizes and batching of the results of ATen's operators.
#ifndef GRAPHNET_FACTS_SHAPES_RESULT_RULES_H_
#define GRAPHNET_FACTS_SHAPES_RESULT_RULES_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ops/schema.h"

namespace graphnet {

// One row. results.txt explains the words.
struct ResultRule {
  absl::string_view sizes = "-";  // a word that SizesOfResult knows
  // Number of dimensions of a result whose sizes are unknown. With `adds_rank` it counts relative
  // to the rank of the first tensor.
  std::optional<int> rank;
  bool adds_rank = false;
  absl::string_view type = "-";  // a word that TypeOfResult knows
  absl::string_view batching = "-";
};

// Returns the rule of operator `name`, an empty one if it has none. "name_", which works in place,
// has the rule of "name". Any thread.
const ResultRule& ResultRuleOf(absl::string_view name);
// Returns whether an operator works element by element and returns one tensor.
bool IsPointwise(const Schema& schema);
// Returns "abs" for its alias "absolute", and a name that is not an alias unchanged.
absl::string_view CommonName(absl::string_view name);
// Parses "<sizes> <dtype> <batching>" as in results.txt. InvalidArgument names an unknown word.
absl::StatusOr<ResultRule> ParseResultRule(absl::string_view words);
// Gives operator "mylib::gain" a rule until the process ends. Any thread.
void AddResultRule(absl::string_view name, const ResultRule& rule);
// Returns all operators that results.txt names, sorted.
std::vector<absl::string_view> OperatorsWithRules();

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_SHAPES_RESULT_RULES_H_
