// Finds the calls of a graph that match a query, which is written like a call:
//
//   scaled_dot_product_attention(attn_mask=%)   has a mask
//   torch.cat(?, dim=-1)                        along the last dimension
//   relu(conv2d(%x, stride=2))                  takes the result of a convolution
//   torch.ops.aten.add.Tensor                   has any arguments
//   conv2d(groups>1, padding!=0)                compares constants
//   softmax(%: f16|bf16[*, *, ...], dim in [-1, 3])
//   matmul(%a, %b): f32[?, 64]
//
// Arguments stand by position or keyword, as in the text form (docs/text.md). They match by
// parameter: a call may have them either way, and may have more of either.
//   %    a value of the graph; %x is the same value wherever it stands
//   ?    a value or a constant
//   NAME=CONSTANT, and !=, <, <=, >, >=, in [A, B]: an omitted argument counts as its default; all
//        elements of a list must satisfy it, and stride=2 matches stride=(2, 2) as well
//   %: TYPE, and CALL(…): TYPE for its result: a dtype, or ? for any, and sizes, written as after
//        "where" in a rule (pattern.h); a value whose type is unknown does not match
// A name without a dot matches every call of that meaning (call_meaning.h), whether it is a function,
// a method, an overload of aten or an operator of Python, in place or not: div matches x / y, and
// sub(1, %) also torch.rsub(x, 1). relu_ matches the calls in place only. A name with a dot matches
// that spelling. a|b matches either.
#ifndef GRAPHNET_PASSES_CALL_QUERY_H_
#define GRAPHNET_PASSES_CALL_QUERY_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graphnet/ir/module.h"
#include "graphnet/passes/pattern.h"

namespace graphnet {

class CallQuery {
 public:
  // Parses a query. InvalidArgument names the error, usually with its column.
  static absl::StatusOr<CallQuery> Parse(absl::string_view text);

  // Returns the matching calls of all graphs in program order; of nested calls the outermost.
  absl::StatusOr<std::vector<Node*>> Find(Module* module) const;
  // Returns the same matches with all their calls, the outermost first. Matches may overlap.
  absl::StatusOr<std::vector<std::vector<Node*>>> FindWhole(Module* module) const;

  // Returns reasons to doubt the query, one a line: it names a parameter that no overload of the
  // function has or, with `names`, a function or method that PyTorch does not have.
  std::vector<std::string> Doubts(bool names) const;

  // A comparison of a parameter with a constant, which lives as long as the query.
  struct Condition {
    std::string name;                      // the parameter
    ArgumentCondition::Relation relation;  // how it compares
    Argument value;                        // the constant
  };
  // One call of the query, for an index of calls.
  struct RequiredCall {
    // The meanings (CallMeaning::name) that calls with its names can have. Empty if it has more than
    // a hundred names, so that what is made of them stays small.
    std::vector<std::string> meanings;
    std::vector<size_t> operands;  // the calls whose values it takes, by their place in the list
    std::vector<Condition> conditions;
  };
  // The calls and types that every graph with a match has.
  struct Requirements {
    std::vector<RequiredCall> calls;
    std::vector<TypeCondition> types;  // without their values
  };
  Requirements Required() const;

 private:
  class Reader;
  struct Call {
    std::vector<std::string> names;  // of which it has one
    std::string arguments;           // in the text form, calls before it as %call_0
    std::vector<std::string> keywords;
    std::vector<Condition> conditions;
  };
  absl::StatusOr<RewriteRule> PatternOf(const std::vector<std::string>& targets) const;

  std::vector<Call> calls_;              // the outermost last
  std::vector<std::string> parameters_;  // "%x", "%any_1 as any"
  std::vector<std::string> types_;       // "%x: f32[*, 64]"
  std::vector<std::shared_ptr<const Module>> values_;
};

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_CALL_QUERY_H_
