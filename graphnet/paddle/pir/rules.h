// The rows of rules.txt: which of PIR's operators a call of Paddle's Python is.
#ifndef GRAPHNET_PADDLE_PIR_RULES_H_
#define GRAPHNET_PADDLE_PIR_RULES_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ir/argument.h"

namespace graphnet::pir {

struct Term {
  enum class Kind { kOperator, kHelper, kParameter, kLiteral };
  Kind kind = Kind::kLiteral;
  absl::string_view name;     // of the operator, helper or parameter
  absl::string_view keyword;  // the parameter that it is given to; empty: by position
  bool may_lack = false;
  Argument literal;
  std::vector<Term> arguments;
};

struct Rule {
  std::vector<std::pair<absl::string_view, Argument>> conditions;
  Term result;
  std::vector<absl::string_view> ignored;  // parameters that say nothing to the operator
};

// In the order in which they are tried. "paddle.nn.functional.relu", "operator.neg", ".clone".
absl::Span<const Rule> RulesOf(absl::string_view function);

// A literal as rows and functions.txt write it, "[1, -1]"; what it holds lives for ever.
Argument ParseLiteral(absl::string_view text);

// Calls fn(name of the function, rule) for each row.
void ForEachRule(void (*fn)(absl::string_view function, const Rule& rule));

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_RULES_H_
