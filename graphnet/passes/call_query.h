// Which calls of a graph are like one that is written down:
//
//   scaled_dot_product_attention(attn_mask=%)   has a mask
//   torch.cat(?, dim=-1)                        along the last dimension
//   relu(conv2d(%x, stride=2))                  of what a convolution yields
//   torch.ops.aten.add.Tensor                   any
//   conv2d(groups>1, padding!=0)                by what constants are
//   softmax(%: f16|bf16[*, *, ...], dim in [-1, 3])
//   matmul(%a, %b): f32[?, 64]
//
// Arguments are said by position or keyword, as in the text form (docs/text.md), with
// the parameter that they are for in mind: a call may have them either way, and may have more.
//   %    a value of the graph; %x wherever it stands the same one
//   ?    a value or a constant
//   NAME=CONSTANT, and !=, <, <=, >, >=, in [A, B]: what is left out counts as its default; of a
//        list each element has to be so, and stride=2 is stride=(2, 2) as well
//   %: TYPE, and CALL(…): TYPE of what it yields: a dtype, or ? for any, and sizes, as a rule has
//        them behind "where" (pattern.h); a value of which that is not known does not match
// A name without a dot is every function and method that ends in it, of aten every overload;
// a|b is either.
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
  // InvalidArgument says what is wrong, and as a rule the column.
  static absl::StatusOr<CallQuery> Parse(absl::string_view text);

  // The calls of all graphs that match, in program order; the outermost where calls nest.
  absl::StatusOr<std::vector<Node*>> Find(Module* module) const;

  // Reasons to doubt the query, a line each: it names a parameter that no overload of the function
  // has; with `names`, also a function or method that PyTorch does not have.
  std::vector<std::string> Doubts(bool names) const;

 private:
  class Reader;
  struct Condition {
    std::string name;
    ArgumentCondition::Relation relation;
    Argument value;  // in `values_`
  };
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
