// The rules of paddle_rules.txt, which say how calls of PyTorch are written in Paddle. That file
// describes the form of its rows.
#ifndef GRAPHNET_PADDLE_RULES_H_
#define GRAPHNET_PADDLE_RULES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ir/argument.h"

namespace graphnet {

// A call of Paddle or one of its arguments. Calls and tuples have arguments of their own.
struct PaddleTerm {
  enum class Kind { kCall, kTuple, kParameter, kVariadic, kPieces, kLiteral };
  Kind kind = Kind::kLiteral;
  std::string name;         // "paddle.cast", ".item" for a method, or a parameter of PyTorch
  bool may_lack = false;    // true if an overload need not have the parameter
  bool is_written = false;  // true if the argument is written even if it is PyTorch's default
  Argument literal;
  absl::string_view keyword;  // keyword in the call; empty if it is positional
  std::vector<PaddleTerm> arguments;
};

// A condition of a row on a parameter.
struct PaddleCondition {
  // The last four depend on known facts: a tensor of bools or of floating-point numbers, a number
  // of pieces that does not divide the tensor, or as many sizes as the tensor has axes.
  enum class Kind { kIs, kTensor, kBool, kFloating, kUneven, kWhole };
  absl::string_view parameter;
  Kind kind = Kind::kIs;
  bool is_not = false;
  Argument value;
};

struct PaddleRule {
  enum class Kind { kCall, kKeep, kDrop, kNone };
  int mapping_class = 0;
  std::string name;
  std::vector<PaddleCondition> conditions;
  Kind kind = Kind::kNone;
  PaddleTerm call;                         // kCall
  std::vector<absl::string_view> dropped;  // parameters that have no meaning in Paddle
  absl::string_view reason;                // kNone
};

// Returns the rules of a name in the order in which they are tried; empty if there are none.
absl::Span<const PaddleRule> PaddleRulesOf(absl::string_view name);

// Returns the name that rows use for a target, such as "torch.Tensor.relu" for a method: the name
// in the tables of ops, or the target itself if they do not know it.
std::string PaddleRuleName(const std::string& target);
// The rows that convert a call.
struct PaddleRulesOfCall {
  absl::Span<const PaddleRule> rules;
  absl::string_view name;  // without "_foreach_" if no row has the name with it
  bool for_each = false;   // true if the rows are those of the call for one tensor of a list
  bool in_place = false;   // true if the rows are those of the call that does not write its input
};
// Finds the rows of a call by its name in the tables of ops.
PaddleRulesOfCall FindPaddleRulesOfCall(absl::string_view name);
// Returns all rules, sorted by name.
absl::Span<const PaddleRule> AllPaddleRules();

}  // namespace graphnet

#endif  // GRAPHNET_PADDLE_RULES_H_
