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
// A parameter matches what the word after "as" says:
//   %x                   a value of the graph
//   %p as literal        a constant
//   %a as any            either
//   %rest as variadic    all further arguments of the call, or elements of the list or tuple,
//                        that it ends; the replacement may use it the same way. Also *%rest
//   %x as each           one value for each element of a list. The calls between it and the list
//                        occur once for each element. torch.cat([%a]) with %a = torch.relu(%x)
//                        matches if every element comes from a relu; [%x] in the replacement
//                        is the list of their operands
//   %rest as keywords    all further keywords of a call, which the replacement passes on;
//                        written **%rest wherever it stands
// A parameter that occurs twice must match the same value twice. A replacement without calls
// returns a parameter, so the call is removed. An argument matches the parameter of the function
// that it is for, by position or by keyword, in any order. All arguments must be there.
//
// A call of a pattern may list several targets and matches any of them: torch.relu|.relu(%x).
//
// A body that a call of the pattern takes must be the same in the graph, node by node.
//
// These lines may stand between a rule's name and its graphs:
//   once                         The rule is not applied to calls that it made itself, so the
//                                replacement may contain the pattern: an observer after each
//                                convolution.
//   where %x: f32[N, *, 64]      The type of a value of the pattern. A dtype, several as
//                                f32|bf16, or ? for any; sizes, * for any one, ... for any
//                                number of them, a name for one that is the same wherever the
//                                rule has it; @cpu, @cuda or @cuda:1 for a device. A value
//                                whose type is unknown does not match.
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
  PatternMatch(PatternMatch&&) = default;             // Move-only, as it points into itself.
  PatternMatch& operator=(PatternMatch&&) = default;  // likewise

  std::vector<Node*> nodes;  // the calls; the one that the pattern returns comes first
  // The arguments that each parameter matched: several for a variadic parameter, else one.
  absl::flat_hash_map<absl::string_view, absl::Span<const Argument>> parameters;
  // The arguments left over for **%rest. The call may have them by position.
  absl::flat_hash_map<absl::string_view, std::vector<KwArg>> keywords;
  // Returns the (first) argument that a parameter matched. The parameter must exist.
  const Argument& operator[](absl::string_view parameter) const {
    return parameters.at(parameter)[0];
  }

  // Storage of arguments that were moved to the positions that the pattern gives them.
  std::vector<std::vector<Argument>> moved;
};

// The type that a value of a pattern must have: "where %x: f32[N, *]".
struct TypeCondition {
  // One size of a shape.
  struct Size {
    // The forms of a size: 64, *, ... and N.
    enum class Kind { kNumber, kAny, kRest, kName };
    Kind kind = Kind::kAny;  // how the size is given
    int64_t number = 0;      // the size if it is a number
    std::string name;        // "N" if it is a name
  };
  const Node* value = nullptr;   // a node of the pattern
  std::string text;              // "%x: f32[N, *]", for messages
  std::vector<DType> dtypes;     // any of these; all if empty
  bool has_sizes = false;        // True if the condition gives sizes.
  std::vector<Size> sizes;       // one a dimension, or kRest for several
  std::optional<Device> device;  // If it has no index, any index matches.
};

// A condition on an argument of a call. An argument that the call leaves out counts with its
// default. A list fulfils the condition if each of its elements does. An int stands for a list that
// holds nothing else, as stride=2 does for (2, 2).
struct ArgumentCondition {
  // How the argument compares with `value`.
  enum class Relation { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual, kIn };
  const Node* call = nullptr;            // a call of the pattern
  std::string name;                      // the name of the argument, such as "groups"
  Relation relation = Relation::kEqual;  // ==, !=, <, <=, >, >= or in
  Argument value;                        // a constant; for kIn a list of constants
};

// One of the targets that a call may have.
struct TargetChoice {
  Op op = Op::kCallFunction;  // function or method
  std::string target;         // "torch.relu", or "relu" of a method
};

// A rule: a pattern, its replacement, and the conditions of a match.
struct RewriteRule {
  std::string name;                    // for messages and counts
  std::unique_ptr<Module> module;      // owns the graphs
  const Graph* pattern = nullptr;      // matched against each graph
  const Graph* replacement = nullptr;  // null for a pattern alone
  // The alternative targets of those calls of the pattern that have some.
  absl::flat_hash_map<const Node*, std::vector<TargetChoice>> more_targets = {};
  // Nodes of the pattern that match once for each element of a list.
  EachNodes each = {};
  // Calls of the pattern whose first two arguments may be swapped.
  absl::flat_hash_set<const Node*> commuting = {};
  bool once = false;                              // True if not applied to its own results.
  std::vector<TypeCondition> types = {};          // types of values; all must hold
  std::vector<ArgumentCondition> arguments = {};  // arguments of calls; all must hold
  // Calls of the pattern that a reflected call, such as torch.rsub, matches with its first two
  // arguments swapped.
  absl::flat_hash_set<const Node*> turning = {};
  // True if calls may have more arguments by position than the pattern gives, and if a positional
  // constant of the pattern matches a call that omits it as its default.
  bool is_query = false;
  // A predicate that a match must satisfy; null accepts all.
  std::function<bool(const PatternMatch&)> where = nullptr;
};

// Parses rules as above, one after the other; lines that start with # are comments.
// InvalidArgument names the file, line and column of an error.
absl::StatusOr<std::vector<RewriteRule>> ParseRules(absl::string_view text,
                                                    absl::string_view file_name);

// Parses the graph @pattern alone, for FindMatches. `conditions` are types, each written as after
// "where" in a rule.
absl::StatusOr<RewriteRule> ParsePattern(absl::string_view text, absl::string_view file_name,
                                         absl::Span<const std::string> conditions = {});

// Applies the rules to all graphs until none matches any more, in program order; where several
// rules match, the first one wins. A match is anchored at the call that the pattern returns and
// followed through operands, so it costs the size of the pattern, and all matches together
// cost O(nodes) unless many rules end in calls of the same target. The inner nodes of a
// match must have no users outside it and no effects (facts/memory/memory_use.h) on other memory,
// and no call between them and the anchor may write to memory. A rule that returns an operand
// is not applied if that operand or the anchor is written to later. New nodes get the location
// and module path of the anchor, and the last one its name and meta.
//
// Adds to `counts`, by rule, how often each was applied. ResourceExhausted if rules undo each
// other: the limit is 8 applications for each node of the original graph.
absl::Status ApplyRules(absl::Span<const RewriteRule> rules, Module* module,
                        std::vector<size_t>* counts = nullptr);
// Returns the matches to which a rule could be applied, in program order of their anchors.
std::vector<PatternMatch> FindMatches(const RewriteRule& rule, Graph* graph);
// Returns all places where the pattern occurs, even if it could not be replaced there.
std::vector<PatternMatch> FindOccurrences(const RewriteRule& rule, Graph* graph);
// Explains why a rule matches nowhere, judging by the calls with the target of the pattern's last
// call: "torch.relu occurs 3 times, always with inplace=". O(nodes).
std::string WhyNoMatch(const RewriteRule& rule, Module* module);

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_PATTERN_H_
