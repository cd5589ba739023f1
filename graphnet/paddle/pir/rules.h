// The rows of rules.txt, which map calls of Paddle's Python to PIR's operators.
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
  absl::string_view name;     // name of the operator, helper or parameter
  absl::string_view keyword;  // parameter that takes the term; empty if it is positional
  bool may_lack = false;
  Argument literal;
  std::vector<Term> arguments;
};

struct Rule {
  std::vector<std::pair<absl::string_view, Argument>> conditions;
  Term result;
  std::vector<absl::string_view> ignored;  // parameters that have no meaning for the operator
};

// Returns the rules of a function, such as "paddle.nn.functional.relu", "operator.neg" or ".clone",
// in the order in which they are tried.
absl::Span<const Rule> RulesOf(absl::string_view function);

// Parses a literal as rows and functions.txt write it, such as "[1, -1]". Its memory is never
// freed.
Argument ParseLiteral(absl::string_view text);

// Calls fn(name of the function, rule) for each row.
void ForEachRule(void (*fn)(absl::string_view function, const Rule& rule));

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_RULES_H_
