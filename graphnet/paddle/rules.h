// What calls of PyTorch are in Paddle: paddle_rules.txt, which says how its rows are written.
#ifndef GRAPHNET_PADDLE_RULES_H_
#define GRAPHNET_PADDLE_RULES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ir/argument.h"

namespace graphnet {

// An argument of a call in Paddle's terms, or the call itself; a tuple has arguments, too.
struct PaddleTerm {
  enum class Kind { kCall, kTuple, kParameter, kVariadic, kPieces, kLiteral };
  Kind kind = Kind::kLiteral;
  std::string name;         // "paddle.cast", ".item" for a method; of a parameter of PyTorch
  bool may_lack = false;    // an overload need not have the parameter
  bool is_written = false;  // the parameter is given even where it is PyTorch's default
  Argument literal;
  absl::string_view keyword;  // by which a call is given it; empty: by position
  std::vector<PaddleTerm> arguments;
};

// What a row asks of a parameter.
struct PaddleCondition {
  // The last three, of what is known: a tensor of bools or of floating-point numbers, a number of
  // pieces that does not divide the tensor.
  enum class Kind { kIs, kTensor, kBool, kFloating, kUneven };
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
  std::vector<absl::string_view> dropped;  // parameters that say nothing in Paddle
  absl::string_view reason;                // kNone
};

// In the order in which they are tried; empty when there is none.
absl::Span<const PaddleRule> PaddleRulesOf(absl::string_view name);

// The name that rows have for a call by its target, "torch.Tensor.relu" for a method: the one of
// the tables of ops, or the target where these know no such call.
std::string PaddleRuleName(const std::string& target);
// The rows that a call is converted by, of `name` in the tables of ops.
struct PaddleRulesOfCall {
  absl::Span<const PaddleRule> rules;
  absl::string_view name;  // without "_foreach_" where that is of no row
  bool for_each = false;   // the rows are of the call for each tensor of a list
  bool in_place = false;   // the rows are of the call that leaves its input as it is
};
PaddleRulesOfCall FindPaddleRulesOfCall(absl::string_view name);
// All, in groups of one name, by name.
absl::Span<const PaddleRule> AllPaddleRules();

}  // namespace graphnet

#endif  // GRAPHNET_PADDLE_RULES_H_
