// Rewriting by patterns that are written as small graphs.
//
//   ASSIGN_OR_RETURN(const std::vector<RewriteRule> rules, ParseRules(text, "my.rules"));
//   RETURN_IF_ERROR(ApplyRules(rules, module.get()));
//
// The text has rules like this one:
//
//   rule relu-of-relu
//   graph @pattern(%x) {
//     %a = torch.relu(%x)
//     %b = torch.relu(%a)
//     return %b
//   }
//   graph @replacement(%x) {
//     %b = torch.relu(%x)
//     return %b
//   }
//
// A parameter stands for whatever is there: what it matches is said behind "as":
//   %x                   a value of the graph
//   %p as literal        a constant
//   %a as any            either
//   %rest as variadic    all further elements of the arguments that it ends, or of the list or
//                        tuple that it stands in; the replacement may use it so, too. Also *%rest
//   %x as each           one value for each element of a list: a call that takes it, and one that
//                        takes that, is there as many times, and a list that holds it has them
//                        all. torch.cat([%a]) with %a = torch.relu(%x) is of relus only; the
//                        replacement has [%x] for what they take
//   %rest as keywords    all further keywords of a call, for the replacement to hand on,
//                        written **%rest wherever it stands
// The same parameter twice has to be the same value twice. A rule without a replacement's
// node returns a parameter: the call goes. Arguments match by the parameter that they are
// for, by position or by keyword, in any order, and all of them have to be there.
//
// A call of a pattern may have several targets, any of which it is: torch.relu|.relu(%x).
//
// A body that a call of the pattern has is the same in the graph, node by node.
//
// Between a rule's name and its graphs may stand
//   once                         not applied to what it made itself, so that the replacement
//                                may hold the pattern: an observer behind each convolution
//   where %x: f32[N, *, 64]      what is known of a value of the pattern. A dtype, several as
//                                f32|bf16, or ? for any; sizes, * for any one, ... for any
//                                number of them, a name for one that is the same wherever the
//                                rule has it; @cpu, @cuda for a device, or @cuda:1. A value of
//                                which that is not known does not match
#ifndef GRAPHNET_PASSES_PATTERN_H_
#define GRAPHNET_PASSES_PATTERN_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ir/module.h"
#include "graphnet/ops/wildcard.h"

namespace graphnet {

// Where a pattern matches.
struct PatternMatch {
  PatternMatch() = default;
  PatternMatch(PatternMatch&&) = default;  // Not copied: it points into itself.
  PatternMatch& operator=(PatternMatch&&) = default;

  std::vector<Node*> nodes;  // calls; first the one that the pattern returns
  // What a parameter stands for: of a variadic one several, else one.
  absl::flat_hash_map<absl::string_view, absl::Span<const Argument>> parameters;
  // What is left over for **%rest. May be of arguments that the call has by position.
  absl::flat_hash_map<absl::string_view, std::vector<KwArg>> keywords;
  const Argument& operator[](absl::string_view parameter) const {
    return parameters.at(parameter)[0];
  }

  // Arguments that were moved to the place that the pattern has them in.
  std::vector<std::vector<Argument>> moved;
};

// What a value of a pattern has to be: "where %x: f32[N, *]".
struct TypeCondition {
  struct Size {
    enum class Kind { kNumber, kAny, kRest, kName };
    Kind kind = Kind::kAny;
    int64_t number = 0;
    std::string name;
  };
  const Node* value = nullptr;  // of the pattern
  std::string text;             // "%x: f32[N, *]"
  std::vector<DType> dtypes;    // empty: any
  bool has_sizes = false;
  std::vector<Size> sizes;
  std::optional<Device> device;  // of any index if it has none
};

// A condition on an argument of a call. An argument that the call leaves out counts with its
// default. A list fulfils the condition if each of its elements does. An int stands for a list that
// holds nothing else, as stride=2 does for (2, 2).
struct ArgumentCondition {
  enum class Relation { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual, kIn };
  const Node* call = nullptr;  // of the pattern
  std::string name;            // "groups"
  Relation relation = Relation::kEqual;
  Argument value;  // a constant; of kIn a list of them
};

// One of the targets that a call may have.
struct TargetChoice {
  Op op = Op::kCallFunction;
  std::string target;
};

struct RewriteRule {
  std::string name;
  std::unique_ptr<Module> module;  // owns the graphs
  const Graph* pattern = nullptr;
  const Graph* replacement = nullptr;
  // Of calls of the pattern that may have others than their own.
  absl::flat_hash_map<const Node*, std::vector<TargetChoice>> more_targets = {};
  // Of the pattern, what stands for each element of a list.
  EachNodes each = {};
  // Calls of the pattern whose first two arguments may stand in the other order.
  absl::flat_hash_set<const Node*> commuting = {};
  bool once = false;
  std::vector<TypeCondition> types = {};
  std::vector<ArgumentCondition> arguments = {};
  // A constant that stands by position in the pattern may be the default of what a call leaves out.
  bool counts_defaults = false;
  // Asked of each match; a rule without one is applied to all.
  std::function<bool(const PatternMatch&)> where = nullptr;
};

// Rules as above, one after the other; lines that start with # are comments.
// InvalidArgument with file, line and column of what is wrong.
absl::StatusOr<std::vector<RewriteRule>> ParseRules(absl::string_view text,
                                                    absl::string_view file_name);

// The graph @pattern alone, for FindMatches, and what stands behind "where" in a rule.
absl::StatusOr<RewriteRule> ParsePattern(absl::string_view text, absl::string_view file_name,
                                         absl::Span<const std::string> conditions = {});

// Applies the rules to all graphs until none matches any more, in program order, the
// first rule that matches first. A match is anchored at what the pattern returns and
// followed through operands, so that it costs the size of the pattern, and all of them
// O(nodes) unless many rules end in calls of the same target. The nodes inside of a
// match must be used in it only, have no effects (facts/memory/memory_use.h) on other memory, and
// no call between them and the anchor may write to memory. A rule that gives an operand back
// is not applied where that or the anchor is written to afterwards. What is made has the location
// and module path of the anchor, the last of it its name and meta.
//
// Adds to `counts`, by rule, how often each was applied. ResourceExhausted when rules
// undo each other: after 8 applications a node, in the graph as it was.
absl::Status ApplyRules(absl::Span<const RewriteRule> rules, Module* module,
                        std::vector<size_t>* counts = nullptr);
// Where a rule could be applied, in program order of what its pattern returns.
std::vector<PatternMatch> FindMatches(const RewriteRule& rule, Graph* graph);
// Where its pattern occurs, whether or not it could be replaced there.
std::vector<PatternMatch> FindOccurrences(const RewriteRule& rule, Graph* graph);
// What keeps a rule that matches nowhere from matching, as far as it can be told from the
// calls that have the target of its last one: "torch.relu occurs 3 times, always with
// inplace=". O(nodes).
std::string WhyNoMatch(const RewriteRule& rule, Module* module);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_PATTERN_H_
