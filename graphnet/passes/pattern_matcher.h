// Matches a pattern at a call and binds its parameters.
#ifndef GRAPHNET_PASSES_PATTERN_MATCHER_H_
#define GRAPHNET_PASSES_PATTERN_MATCHER_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ir/module.h"
#include "graphnet/ops/wildcard.h"
#include "graphnet/passes/pattern.h"

namespace graphnet {

// Returns whether `node` has the target of `pattern`, or one of its alternatives.
bool HasTarget(const RewriteRule& rule, const Node& pattern, const Node& node);

// Matches a pattern at an anchor. `why`, which may be null, receives the first obstacle, worded to
// follow "always": "with inplace=".
class PatternMatcher {
 public:
  PatternMatcher(const RewriteRule& rule, PatternMatch* match, std::string* why)
      : rule_(rule), match_(*match), why_(why) {}
  bool Anchor(const Node& pattern, Node* node);

 private:
  template <typename... Parts>
  bool Fail(const Parts&... parts) {
    if (why_ != nullptr && why_->empty()) *why_ = absl::StrCat(parts...);
    return false;
  }

  bool MatchNode(const Node& pattern, Node* node);
  // Matches the arguments; with `swapped`, the first two in the other order.
  bool MatchCall(const Node& pattern, Node* node, bool swapped);
  // Moves arguments so that as many are given by position as `patterns` has, or more if it is
  // variadic.
  bool Rearrange(const Node& node, absl::Span<const Argument> patterns, bool is_variadic,
                 std::vector<Argument>* args, std::vector<KwArg>* keywords);
  // `in_list`: elements of a list, not arguments of a call.
  bool MatchAll(absl::Span<const Argument> patterns, absl::Span<const Argument> values,
                bool in_list);
  // Matches each element of a list with `pattern`.
  bool MatchEach(Node& pattern, absl::Span<const Argument> values);
  bool MatchArgument(const Argument& pattern, const Argument& value);
  bool Holds(const ArgumentCondition& condition, const Node& node);
  bool Bind(const Node& parameter, absl::Span<const Argument> values);
  bool IsOf(const TypeCondition& type);
  bool HasSizes(const TypeCondition& type, absl::Span<const Dim> shape);

  const RewriteRule& rule_;
  PatternMatch& match_;
  std::string* const why_;
  absl::flat_hash_map<const Node*, Node*> made_;
  // The values of "as each" parameters in the element that is being matched.
  absl::flat_hash_map<absl::string_view, Argument> element_;
  absl::flat_hash_map<absl::string_view, Dim> sizes_;  // by the names of type conditions
};

}  // namespace graphnet

#endif  // GRAPHNET_PASSES_PATTERN_MATCHER_H_
