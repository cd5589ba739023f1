#include "graphnet/passes/pattern.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/base/arena.h"
#include "graphnet/base/status.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/memory_use.h"
#include "graphnet/ops/parameter_names.h"
#include "graphnet/text/parser.h"

namespace graphnet {
namespace {

constexpr size_t kApplicationsPerNode = 8;

enum class Wildcard { kValue, kLiteral, kAny, kVariadic, kKeywords };

Wildcard WildcardOf(const Node& parameter) {
  if (parameter.annotation() == "literal") return Wildcard::kLiteral;
  if (parameter.annotation() == "any") return Wildcard::kAny;
  if (parameter.annotation() == "variadic") return Wildcard::kVariadic;
  if (parameter.annotation() == "keywords") return Wildcard::kKeywords;
  return Wildcard::kValue;
}

bool IsWildcard(const Argument& argument, Wildcard kind) {
  return argument.is_node() && argument.node()->is_placeholder() &&
         WildcardOf(*argument.node()) == kind;
}
bool IsVariadic(const Argument& argument) { return IsWildcard(argument, Wildcard::kVariadic); }
bool IsKeywords(const Argument& argument) { return IsWildcard(argument, Wildcard::kKeywords); }

bool IsSequence(const Argument& argument) { return argument.is_list() || argument.is_tuple(); }

bool HoldsNode(const Argument& argument) {
  bool holds = false;
  ForEachArgument(argument, [&](const Argument& a) { holds |= a.is_node() || a.is_graph(); });
  return holds;
}

// --- Matching ------------------------------------------------------------------

bool HasTarget(const RewriteRule& rule, const Node& pattern, const Node& node) {
  if (node.op() == pattern.op() && node.target() == pattern.target()) return true;
  const auto more = rule.more_targets.find(&pattern);
  return more != rule.more_targets.end() &&
         absl::c_any_of(more->second, [&](const TargetChoice& choice) {
           return choice.op == node.op() && choice.target == node.target();
         });
}

// Matches a pattern at an anchor. `why` takes what is in the way, as it goes on after
// "always": "with inplace=".
class Matcher {
 public:
  Matcher(const RewriteRule& rule, PatternMatch* match, std::string* why)
      : rule_(rule), match_(*match), why_(why) {}
  bool Anchor(const Node& pattern, Node* node) {
    return MatchNode(pattern, node) &&
           absl::c_all_of(rule_.types, [this](const TypeCondition& type) { return IsOf(type); });
  }

 private:
  template <typename... Parts>
  bool Fail(const Parts&... parts) {
    if (why_ != nullptr && why_->empty()) *why_ = absl::StrCat(parts...);
    return false;
  }

  bool MatchNode(const Node& pattern, Node* node) {
    const auto it = made_.find(&pattern);
    if (it != made_.end()) return it->second == node || Fail("with two values for one");
    if (!HasTarget(rule_, pattern, *node)) {
      return Fail("with a value of ", node->is_call() ? node->target() : OpName(node->op()),
                  " for that of ", pattern.target());
    }
    made_[&pattern] = node;
    match_.nodes.push_back(node);

    absl::Span<const Argument> patterns = pattern.args();
    const bool is_variadic = !patterns.empty() && IsVariadic(patterns.back());
    const size_t positional = patterns.size() - (is_variadic ? 1 : 0);
    absl::Span<const Argument> values = node->args();
    std::vector<KwArg> keywords(node->kwargs().begin(), node->kwargs().end());
    if (is_variadic ? values.size() < positional : values.size() != positional) {
      std::vector<Argument> moved(values.begin(), values.end());
      if (!Rearrange(*node, positional, is_variadic, &moved, &keywords)) return false;
      values = match_.moved.emplace_back(std::move(moved));
    }
    const Node* rest = nullptr;
    for (const KwArg& kwarg : pattern.kwargs()) {
      if (IsKeywords(kwarg.value)) {
        rest = kwarg.value.node();
        continue;
      }
      const auto given =
          absl::c_find_if(keywords, [&](const KwArg& k) { return k.name == kwarg.name; });
      if (given == keywords.end()) return Fail("without ", kwarg.name, "=");
      // What a parameter stands for is to be found for as long as the match.
      const std::vector<Argument>& kept = match_.moved.emplace_back(1, given->value);
      keywords.erase(given);
      if (!MatchArgument(kwarg.value, kept[0])) return Fail("with another ", kwarg.name, "=");
    }
    if (rest != nullptr) {
      const auto [known, is_new] = match_.keywords.try_emplace(rest->target(), keywords);
      const auto same = [](const KwArg& a, const KwArg& b) {
        return a.name == b.name && a.value == b.value;
      };
      if (!is_new && !absl::c_equal(known->second, keywords, same))
        return Fail("with other keywords for **%", rest->name());
    } else if (!keywords.empty()) {
      return Fail("with ", keywords[0].name, "=");
    }
    return MatchAll(patterns, values);
  }

  // Moves arguments so that `positional` are given by position, or more if it is variadic.
  bool Rearrange(const Node& node, size_t positional, bool is_variadic, std::vector<Argument>* args,
                 std::vector<KwArg>* keywords) {
    const std::vector<PositionalParameter> names = PositionalParameters(node, CalleeOf(node));
    while (args->size() < positional && args->size() < names.size()) {
      const auto it = absl::c_find_if(
          *keywords, [&](const KwArg& kwarg) { return kwarg.name == names[args->size()].name; });
      if (it == keywords->end()) break;
      args->push_back(it->value);
      keywords->erase(it);
    }
    while (args->size() > positional && args->size() <= names.size()) {
      keywords->insert(keywords->begin(), {names[args->size() - 1].name, args->back()});
      args->pop_back();
    }
    if (args->size() == positional || (is_variadic && args->size() > positional)) return true;
    return Fail("with ", node.args().size(), node.args().size() == 1 ? " argument" : " arguments");
  }

  bool MatchAll(absl::Span<const Argument> patterns, absl::Span<const Argument> values) {
    if (!patterns.empty() && IsVariadic(patterns.back())) {
      const size_t n = patterns.size() - 1;
      if (values.size() < n || !Bind(*patterns.back().node(), values.subspan(n)))
        return Fail("with other arguments for *%", patterns.back().node()->name());
      patterns.remove_suffix(1);
      values = values.first(n);
    }
    if (patterns.size() != values.size()) return Fail("with a list of another length");
    for (size_t i = 0; i < patterns.size(); ++i) {
      if (!MatchArgument(patterns[i], values[i])) return Fail("with another argument ", i + 1);
    }
    return true;
  }

  bool MatchArgument(const Argument& pattern, const Argument& value) {
    if (pattern.is_node()) {
      const Node& node = *pattern.node();
      if (!node.is_placeholder()) return value.is_node() && MatchNode(node, value.node());
      const Wildcard wildcard = WildcardOf(node);
      if (wildcard == Wildcard::kValue && !value.is_node())
        return Fail("with a constant for %", node.name());
      if (wildcard == Wildcard::kLiteral && HoldsNode(value))
        return Fail("with a value for %", node.name());
      return Bind(node, absl::MakeConstSpan(&value, 1));
    }
    // As PyTorch, which takes a tuple for a list.
    if (IsSequence(pattern) && IsSequence(value))
      return MatchAll(pattern.elements(), value.elements());
    if (pattern.is_aggregate()) {
      return pattern.kind() == value.kind() && MatchAll(pattern.elements(), value.elements());
    }
    return pattern == value;
  }

  bool Bind(const Node& parameter, absl::Span<const Argument> values) {
    const auto [it, is_new] = match_.parameters.try_emplace(parameter.target(), values);
    return is_new || absl::c_equal(it->second, values);
  }

  bool IsOf(const TypeCondition& type) {
    const auto made = made_.find(type.value);
    const Node* value = nullptr;
    if (made != made_.end()) {
      value = made->second;
    } else if (const Argument& bound = match_[type.value->target()]; bound.is_node()) {
      value = bound.node();
    }
    const TensorMeta* meta = value == nullptr ? nullptr : value->tensor_meta();
    if (meta == nullptr) return Fail("where nothing is known of ", type.text);
    const bool fits = (type.dtypes.empty() || absl::c_linear_search(type.dtypes, meta->dtype)) &&
                      (!type.has_sizes || (meta->has_shape && HasSizes(type, meta->shape))) &&
                      (!type.device.has_value() ||
                       (meta->has_device && meta->device.type == type.device->type &&
                        (type.device->index < 0 || meta->device.index == type.device->index)));
    return fits || Fail("where not ", type.text);
  }

  bool HasSizes(const TypeCondition& type, absl::Span<const Dim> shape) {
    using Kind = TypeCondition::Size::Kind;
    const auto rest = absl::c_find_if(
        type.sizes, [](const TypeCondition::Size& size) { return size.kind == Kind::kRest; });
    const size_t fixed = type.sizes.size() - (rest == type.sizes.end() ? 0 : 1);
    if (rest == type.sizes.end() ? shape.size() != fixed : shape.size() < fixed) return false;
    size_t at = 0;
    for (const TypeCondition::Size& size : type.sizes) {
      if (size.kind == Kind::kRest) {
        at += shape.size() - fixed;
        continue;
      }
      const Dim& dim = shape[at++];
      if (size.kind == Kind::kNumber && (!dim.is_static() || dim.value != size.number))
        return false;
      if (size.kind != Kind::kName) continue;
      const auto [known, is_new] = sizes_.try_emplace(size.name, dim);
      if (!is_new && !(known->second == dim)) return false;
    }
    return true;
  }

  const RewriteRule& rule_;
  PatternMatch& match_;
  std::string* const why_;
  absl::flat_hash_map<const Node*, Node*> made_;
  absl::flat_hash_map<absl::string_view, Dim> sizes_;  // by the names of type conditions
};

// --- Applying ------------------------------------------------------------------

class Rewriter {
 public:
  Rewriter(absl::Span<const RewriteRule> rules, Graph* graph) : rules_(rules), graph_(graph) {
    for (size_t i = 0; i < rules.size(); ++i) {
      const Node& anchor = AnchorOf(rules[i]);
      const auto add = [&](absl::string_view target) {
        std::vector<size_t>& of_target = by_target_[target];
        if (of_target.empty() || of_target.back() != i) of_target.push_back(i);
      };
      add(anchor.target());
      if (const auto more = rules[i].more_targets.find(&anchor);
          more != rules[i].more_targets.end()) {
        for (const TargetChoice& choice : more->second) add(choice.target);
      }
    }
  }

  // Whether `rule` can be applied at `node`; `why`, which may be null, takes why not.
  bool Matches(const RewriteRule& rule, Node* node, PatternMatch* match,
               std::string* why = nullptr) {
    if (!Matcher(rule, match, why).Anchor(AnchorOf(rule), node)) return false;
    const char* reason = !IsClosed(*match)       ? "with a value inside that is used elsewhere"
                         : WritesBetween(*match) ? "with a write to memory in between"
                         : rule.where != nullptr && !rule.where(*match) ? "where it is refused"
                         : rule.replacement != nullptr && MixesUpWrites(*rule.replacement, *match)
                             ? "where what it gives back is written to"
                             : nullptr;
    if (reason != nullptr && why != nullptr) *why = reason;
    return reason == nullptr;
  }

  absl::Status Run(std::vector<size_t>* counts) {
    const size_t limit = kApplicationsPerNode * (graph_->num_nodes() + 1);
    size_t applied = 0;
    for (bool again = true; again;) {
      again = false;
      for (Node* node = graph_->first(); node != nullptr;) {
        Node* const previous = node->prev();
        if (!TryRules(node, counts)) {
          node = node->next();
          continue;
        }
        if (++applied > limit) {
          return absl::ResourceExhaustedError(
              absl::StrCat("graph ", Printable(graph_->name()), ": rules undo each other"));
        }
        again = true;
        // On with the first of what was made; what was before it may be gone too.
        Node* before = previous;
        while (before != nullptr && before->is_erased()) before = before->prev();
        node = before == nullptr ? graph_->first() : before->next();
      }
    }
    return absl::OkStatus();
  }

  static const Node& AnchorOf(const RewriteRule& rule) {
    return *rule.pattern->output()->args()[0].node();
  }

 private:
  bool TryRules(Node* node, std::vector<size_t>* counts) {
    if (!node->is_call()) return false;
    const auto it = by_target_.find(node->target());
    if (it == by_target_.end()) return false;
    for (const size_t i : it->second) {
      PatternMatch match;
      if (!Matches(rules_[i], node, &match) || WasMadeBy(i, match)) continue;
      Apply(i, match);
      if (counts != nullptr) ++(*counts)[i];
      return true;
    }
    return false;
  }

  // Whether a rule that is applied once made part of the match.
  bool WasMadeBy(size_t rule, const PatternMatch& match) const {
    return rules_[rule].once && absl::c_any_of(match.nodes, [&](const Node* node) {
             const auto it = made_by_.find(node);
             return it != made_by_.end() && absl::c_linear_search(it->second, rule);
           });
  }

  // Whether a rule that gives one of its operands back would make one value of two that
  // are told apart: `b.unsqueeze_(0)` changes the shape of b, and not that of what b is
  // a view of.
  static bool MixesUpWrites(const Graph& replacement, const PatternMatch& match) {
    const Node* result = replacement.output()->args()[0].node();
    if (!result->is_placeholder()) return false;
    const Node* anchor = match.nodes[0];
    const auto is_written = [&](const Node* value) {
      return absl::c_any_of(value->uses(), [&](const Use& use) {
        return anchor->IsBefore(use.user) &&
               absl::c_linear_search(MemoryUseOf(*use.user).written, value);
      });
    };
    const Argument& given = match.parameters.at(result->target())[0];
    return is_written(anchor) || (given.is_node() && is_written(given.node()));
  }

  // Whether nothing else uses the nodes inside.
  static bool IsClosed(const PatternMatch& match) {
    for (const Node* node : absl::MakeConstSpan(match.nodes).subspan(1)) {
      for (const Use& use : node->uses()) {
        if (!absl::c_linear_search(match.nodes, use.user)) return false;
      }
    }
    return true;
  }

  // Whether a call of no part in the match, between its first node and the anchor,
  // writes to memory.
  bool WritesBetween(const PatternMatch& match) {
    if (match.nodes.size() == 1) return false;
    if (writers_before_.empty()) {
      size_t writers = 0;
      for (const Node* node : graph_->nodes()) {
        writers_before_[node] = writers;
        writers += node->is_call() && !MemoryUseOf(*node).written.empty() ? 1 : 0;
      }
    }
    const Node* first = match.nodes[0];
    size_t own = 0;
    for (const Node* node : match.nodes) {
      if (node->IsBefore(first)) first = node;
      own += node != match.nodes[0] && !MemoryUseOf(*node).written.empty() ? 1 : 0;
    }
    return writers_before_.at(match.nodes[0]) - writers_before_.at(first) > own;
  }

  void Apply(size_t rule, const PatternMatch& match) {
    const Graph& replacement = *rules_[rule].replacement;
    Node* const anchor = match.nodes[0];
    // What was made of what a rule made was made by it, too.
    std::vector<size_t> makers;
    if (rules_[rule].once) makers.push_back(rule);
    for (const Node* node : match.nodes) {
      const auto it = made_by_.find(node);
      if (it == made_by_.end()) continue;
      for (const size_t maker : it->second) {
        if (!absl::c_linear_search(makers, maker)) makers.push_back(maker);
      }
    }
    absl::flat_hash_map<const Node*, Node*> made;
    Arena arena;
    const InsertionGuard guard(graph_, anchor);
    bool writes = false;
    Node* last = nullptr;
    const std::string name(anchor->name());
    for (const Node* node : replacement.nodes()) {
      if (!node->is_call()) continue;
      std::vector<Argument> args;
      Fill(node->args(), match, made, &arena, &args);
      std::vector<KwArg> kwargs;
      for (const KwArg& kwarg : node->kwargs()) {
        if (IsKeywords(kwarg.value)) {
          // What the replacement says itself goes first.
          for (const KwArg& rest : match.keywords.at(kwarg.value.node()->target())) {
            const auto is_same = [&](const KwArg& k) { return k.name == rest.name; };
            if (absl::c_none_of(node->kwargs(), is_same)) kwargs.push_back(rest);
          }
          continue;
        }
        std::vector<Argument> value;
        Fill(absl::MakeConstSpan(&kwarg.value, 1), match, made, &arena, &value);
        kwargs.push_back({kwarg.name, value[0]});
      }
      last = graph_->CreateNode(node->op(), node->target(), args, kwargs, node->name());
      last->set_location(anchor->location());
      last->set_module_path(anchor->module_path());
      made[node] = last;
      if (!makers.empty()) made_by_[last] = makers;
      if (!writers_before_.empty()) writers_before_[last] = writers_before_.at(anchor);
      writes |= !MemoryUseOf(*last).written.empty();
    }
    const Node* result = replacement.output()->args()[0].node();
    Node* value = result->is_placeholder() ? match.parameters.at(result->target())[0].node()
                                           : made.at(result);
    if (!result->is_placeholder() && value->meta() == nullptr) value->set_meta(anchor->meta());
    anchor->ReplaceAllUsesWith(value);
    std::vector<Node*> old = match.nodes;
    absl::c_sort(old, [](const Node* a, const Node* b) { return b->IsBefore(a); });
    for (Node* node : old) graph_->EraseNode(node);
    if (!result->is_placeholder()) value->set_name(name);
    if (writes) writers_before_.clear();
  }

  // Appends what `templates` stand for.
  static void Fill(absl::Span<const Argument> templates, const PatternMatch& match,
                   const absl::flat_hash_map<const Node*, Node*>& made, Arena* arena,
                   std::vector<Argument>* out) {
    for (const Argument& argument : templates) {
      if (argument.is_node()) {
        const Node* node = argument.node();
        if (!node->is_placeholder()) {
          out->push_back(made.at(node));
        } else {
          const absl::Span<const Argument> values = match.parameters.at(node->target());
          out->insert(out->end(), values.begin(), values.end());
        }
      } else if (argument.is_aggregate()) {
        std::vector<Argument> elements;
        Fill(argument.elements(), match, made, arena, &elements);
        const absl::Span<const Argument> kept = arena->Copy(absl::MakeConstSpan(elements));
        out->push_back(Argument::Aggregate(argument.kind(), kept));
      } else {
        out->push_back(argument);
      }
    }
  }

  const absl::Span<const RewriteRule> rules_;
  Graph* const graph_;
  absl::flat_hash_map<absl::string_view, std::vector<size_t>> by_target_;
  // By node, how many calls before it write to memory. Empty: not known.
  absl::flat_hash_map<const Node*, size_t> writers_before_;
  // By node, the rules that are applied once and made it.
  absl::flat_hash_map<const Node*, std::vector<size_t>> made_by_;
};

// --- Reading -------------------------------------------------------------------

// Where a variadic parameter stands that is not the end of arguments or of a sequence.
bool MisplacesVariadic(absl::Span<const Argument> arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (IsVariadic(arguments[i]) && i + 1 < arguments.size()) return true;
    if (!arguments[i].is_aggregate()) continue;
    if (!IsSequence(arguments[i]) && absl::c_any_of(arguments[i].elements(), IsVariadic))
      return true;
    if (MisplacesVariadic(arguments[i].elements())) return true;
  }
  return false;
}

absl::Status CheckGraph(const Graph* graph, absl::string_view name,
                        const absl::flat_hash_set<absl::string_view>* known,
                        absl::flat_hash_set<absl::string_view>* used) {
  const auto error = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("@", name, ": ", what));
  };
  if (graph == nullptr) return error("missing");
  if (graph->output() == nullptr || graph->output()->args().size() != 1 ||
      !graph->output()->args()[0].is_node()) {
    return error("must return one value");
  }
  for (const Node* node : graph->nodes()) {
    if (node->is_placeholder()) {
      if (known != nullptr && !known->contains(node->target())) {
        return error(
            absl::StrCat("%", Printable(node->target()), " is no parameter of the pattern"));
      }
      if (known == nullptr && !node->has_uses()) {
        return error(absl::StrCat("nothing says what %", Printable(node->target()), " is"));
      }
      used->insert(node->target());
      continue;
    }
    if (node->is_output()) continue;
    if (!node->is_call()) return error("only calls can be matched and made");
    if (!node->has_uses()) return error(absl::StrCat("nothing uses %", Printable(node->name())));
    if (MisplacesVariadic(node->args()))
      return error("a variadic parameter is the last of the arguments or of a list");
    const auto holds_keywords = [](const Argument& argument) {
      bool holds = false;
      ForEachArgument(argument, [&](const Argument& a) { holds |= IsKeywords(a); });
      return holds;
    };
    size_t rests = 0;
    bool misplaces = absl::c_any_of(node->args(), holds_keywords);
    for (const KwArg& kwarg : node->kwargs()) {
      const bool is_rest = IsKeywords(kwarg.value);
      rests += is_rest ? 1 : 0;
      misplaces |= !is_rest && holds_keywords(kwarg.value);
    }
    if (rests > 1) return error("a call takes one **%rest");
    if (misplaces) return error("a parameter for keywords stands in a call, as **%rest");
    for (const KwArg& kwarg : node->kwargs()) {
      if (IsVariadic(kwarg.value)) return error("a variadic parameter is no keyword's value");
      if (MisplacesVariadic(absl::MakeConstSpan(&kwarg.value, 1))) {
        return error("a variadic parameter is the last of a list");
      }
    }
  }
  return absl::OkStatus();
}

// What stands in a rule beside the text form: stars, further targets, conditions.
struct Marks {
  struct Choice {
    std::string node;
    TargetChoice target;
  };
  struct Condition {
    std::string text;  // behind "where"
    size_t line = 0;
    size_t column = 0;
  };
  std::map<std::string, Wildcard> stars;  // by parameter
  std::vector<Choice> choices;            // of calls of the pattern
  std::vector<Condition> conditions;
  bool once = false;
};

bool IsNameChar(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
}

// Takes the stars and the further targets out of a text, so that all else keeps its place:
// **%rest becomes _=%rest in a call, and the others become blanks.
class MarkReader {
 public:
  MarkReader(std::string* text, absl::string_view file, Marks* marks)
      : text_(*text), file_(file), marks_(*marks) {}

  absl::Status Read() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == '"') {
        Quoted();
      } else if (c == '*' && !SkipsStars()) {
        RETURN_IF_ERROR(Stars());
      } else if (c == '|' && depth_ == 0) {
        RETURN_IF_ERROR(Choice());
      } else if (c == '%' || IsNameChar(c)) {
        Word();
      } else {
        depth_ += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
        if (c == ')') in_parameters_ = false;
        if (c == '=' && depth_ == 0) defined_ = name_;
        ++at_;
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Error(size_t at, absl::string_view what) const {
    const size_t line = static_cast<size_t>(
        std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    const size_t begin = at == 0 ? std::string::npos : text_.rfind('\n', at - 1);
    return ErrorAt(file_, line + 1, begin == std::string::npos ? at + 1 : at - begin, what);
  }
  std::string Quoted() {
    const size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n')
      at_ += text_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_, text_.size());
    std::string quoted = text_.substr(begin, at_ - begin);
    if (at_ < text_.size()) ++at_;
    return quoted;
  }
  std::string Bare() {
    const size_t begin = at_;
    while (at_ < text_.size() && IsNameChar(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  std::string Name() { return at_ < text_.size() && text_[at_] == '"' ? Quoted() : Bare(); }
  void Word() {
    if (text_[at_] == '%') {
      ++at_;
      name_ = Name();
      return;
    }
    const std::string word = Bare();
    if (word != "graph" || depth_ != 0) return;
    in_parameters_ = true;
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (at_ == text_.size() || text_[at_] != '@') return;
    ++at_;
    graph_ = Name();
  }
  // Whether what stands here multiplies.
  bool SkipsStars() {
    const size_t end = text_.find_first_not_of('*', at_);
    if (end != std::string::npos && text_[end] == '%' && end - at_ <= 2) return false;
    at_ = std::min(end, text_.size());
    return true;
  }
  absl::Status Stars() {
    const size_t begin = at_;
    at_ = text_.find('%', at_);
    const size_t stars = at_ - begin;
    const Wildcard kind = stars == 2 ? Wildcard::kKeywords : Wildcard::kVariadic;
    Word();
    const auto [known, is_new] = marks_.stars.emplace(name_, kind);
    if (!is_new && known->second != kind)
      return Error(begin, absl::StrCat("%", Printable(name_), " has one star and two"));
    text_.replace(begin, stars, stars == 2 && !in_parameters_ ? "_=" : std::string(stars, ' '));
    return absl::OkStatus();
  }
  absl::Status Choice() {
    const size_t begin = at_++;
    if (graph_ != "pattern") return Error(begin, "only calls of @pattern have several targets");
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    Marks::Choice choice{defined_, {}};
    if (at_ < text_.size() && text_[at_] == '.') {
      choice.target.op = Op::kCallMethod;
      ++at_;
    }
    choice.target.target = Name();
    if (choice.target.target.empty()) return Error(at_, "expected a target after |");
    marks_.choices.push_back(std::move(choice));
    std::fill(text_.begin() + static_cast<ptrdiff_t>(begin),
              text_.begin() + static_cast<ptrdiff_t>(at_), ' ');
    return absl::OkStatus();
  }

  std::string& text_;
  const absl::string_view file_;
  Marks& marks_;
  size_t at_ = 0;
  int depth_ = 0;
  bool in_parameters_ = false;
  std::string graph_, name_, defined_;  // the names read last
};

// "%x: f32[N, *]".
class ConditionReader {
 public:
  ConditionReader(const Marks::Condition& condition, absl::string_view file, const Graph& pattern)
      : condition_(condition), file_(file), pattern_(pattern), left_(condition.text) {}

  absl::StatusOr<TypeCondition> Read() {
    TypeCondition type;
    type.text = std::string(absl::StripAsciiWhitespace(left_));
    if (!Take("%")) return Error("expected %NAME: TYPE, as %x: f32[*, 64]");
    const absl::string_view before = left_;
    const std::string name = Word();
    for (const Node* node : pattern_.nodes()) {
      if (node->name() == name && !node->is_output()) type.value = node;
    }
    if (type.value == nullptr) {
      left_ = before;
      return Error(absl::StrCat("@pattern has no %", Printable(name)));
    }
    if (type.value->is_placeholder() && (WildcardOf(*type.value) == Wildcard::kVariadic ||
                                         WildcardOf(*type.value) == Wildcard::kKeywords ||
                                         WildcardOf(*type.value) == Wildcard::kLiteral)) {
      left_ = before;
      return Error(absl::StrCat("%", Printable(name), " is no value"));
    }
    if (!Take(":")) return Error("expected ':'");
    if (!Take("?")) {
      do {
        Blanks();
        const absl::string_view at = left_;
        const std::optional<DType> dtype = ParseDTypeShortName(Word());
        if (!dtype.has_value()) {
          left_ = at;
          return Error("expected a dtype, as f32, or ?");
        }
        type.dtypes.push_back(*dtype);
      } while (Take("|"));
    }
    if (Take("[")) {
      type.has_sizes = true;
      RETURN_IF_ERROR(ReadSizes(&type));
    }
    if (Take("@")) {
      const size_t end = std::min(left_.find_first_of(" \t\r"), left_.size());
      type.device = ParseDevice(left_.substr(0, end));
      if (!type.device.has_value()) return Error("expected a device, as cpu or cuda:0");
      left_.remove_prefix(end);
    }
    Blanks();
    if (!left_.empty()) return Error("expected the end of the line");
    return type;
  }

 private:
  absl::Status ReadSizes(TypeCondition* type) {
    using Kind = TypeCondition::Size::Kind;
    bool has_rest = false;
    while (!Take("]")) {
      TypeCondition::Size size;
      Blanks();
      const absl::string_view at = left_;
      if (Take("...")) {
        size.kind = Kind::kRest;
        if (has_rest) {
          left_ = at;
          return Error("... stands once");
        }
        has_rest = true;
      } else if (!Take("*")) {
        size.name = Word();
        if (size.name.empty()) return Error("expected a size: a number, a name, * or ...");
        size.kind = absl::SimpleAtoi(size.name, &size.number) ? Kind::kNumber : Kind::kName;
      }
      type->sizes.push_back(std::move(size));
      if (Take(",")) continue;
      if (Take("]")) break;
      return Error("expected ',' or ']'");
    }
    return absl::OkStatus();
  }
  void Blanks() { left_ = absl::StripLeadingAsciiWhitespace(left_); }
  bool Take(absl::string_view text) {
    Blanks();
    return absl::ConsumePrefix(&left_, text);
  }
  std::string Word() {
    size_t size = 0;
    while (size < left_.size() && IsNameChar(left_[size])) ++size;
    std::string word(left_.substr(0, size));
    left_.remove_prefix(size);
    return word;
  }
  absl::Status Error(absl::string_view what) {
    Blanks();
    return ErrorAt(file_, condition_.line,
                   condition_.column + (condition_.text.size() - left_.size()), what);
  }

  const Marks::Condition& condition_;
  const absl::string_view file_;
  const Graph& pattern_;
  absl::string_view left_;
};

// Without `replaces`, of a pattern alone.
absl::StatusOr<RewriteRule> ParseRule(std::string name, std::string text,
                                      absl::string_view file_name, bool replaces, Marks marks) {
  RewriteRule rule;
  rule.name = std::move(name);
  rule.once = marks.once;
  RETURN_IF_ERROR(MarkReader(&text, file_name, &marks).Read());
  ASSIGN_OR_RETURN(rule.module, ParseModule(text, file_name));
  rule.pattern = rule.module->FindGraph("pattern");
  rule.replacement = rule.module->FindGraph("replacement");
  for (const auto& [parameter, kind] : marks.stars) {
    Node* node =
        rule.pattern == nullptr ? nullptr : rule.module->FindGraph("pattern")->FindNode(parameter);
    if (node != nullptr && node->is_placeholder())
      node->set_annotation(kind == Wildcard::kKeywords ? "keywords" : "variadic");
  }
  absl::flat_hash_set<absl::string_view> parameters;
  RETURN_IF_ERROR(CheckGraph(rule.pattern, "pattern", nullptr, &parameters));
  if (rule.pattern->output()->args()[0].node()->is_placeholder()) {
    return absl::InvalidArgumentError("@pattern: must return what a call yields");
  }
  for (Marks::Choice& choice : marks.choices) {
    const Node* node = rule.pattern->FindNode(choice.node);
    if (node != nullptr && node->is_call())
      rule.more_targets[node].push_back(std::move(choice.target));
  }
  for (const Marks::Condition& condition : marks.conditions) {
    ASSIGN_OR_RETURN(TypeCondition type,
                     ConditionReader(condition, file_name, *rule.pattern).Read());
    rule.types.push_back(std::move(type));
  }
  if (!replaces) return rule;
  absl::flat_hash_set<absl::string_view> used;
  RETURN_IF_ERROR(CheckGraph(rule.replacement, "replacement", &parameters, &used));
  // What a parameter stands for is said in the pattern.
  absl::flat_hash_map<absl::string_view, Wildcard> kinds;
  for (const Node* node : rule.pattern->placeholders()) kinds[node->target()] = WildcardOf(*node);
  for (Node* node : rule.replacement->placeholders()) {
    const Wildcard kind = kinds.at(node->target());
    if (kind == Wildcard::kVariadic) node->set_annotation("variadic");
    if (kind == Wildcard::kKeywords) node->set_annotation("keywords");
    if (node == rule.replacement->output()->args()[0].node() && kind != Wildcard::kValue) {
      return absl::InvalidArgumentError("@replacement: returns what need not be a value");
    }
  }
  for (const Node* node : rule.replacement->nodes()) {
    if (node->is_call() && MisplacesVariadic(node->args())) {
      return absl::InvalidArgumentError(
          "@replacement: a variadic parameter is the last of the arguments or of a list");
    }
    // What the pattern has as keywords is known only now.
    for (const Argument& argument : node->args()) {
      bool holds = false;
      ForEachArgument(argument, [&](const Argument& a) { holds |= IsKeywords(a); });
      if (holds && node->is_call())
        return absl::InvalidArgumentError(
            "@replacement: a parameter for keywords stands in a call, as **%rest");
    }
  }
  return rule;
}

}  // namespace

absl::StatusOr<std::vector<RewriteRule>> ParseRules(absl::string_view text,
                                                    absl::string_view file_name) {
  std::vector<RewriteRule> rules;
  std::string name;
  std::string body;
  Marks marks;
  size_t name_line = 0;
  bool in_graphs = false;  // past the lines in front of them
  const auto finish = [&]() -> absl::Status {
    if (name_line == 0) return absl::OkStatus();
    absl::StatusOr<RewriteRule> rule = ParseRule(name, body, file_name, /*replaces=*/true, marks);
    if (!rule.ok()) {
      // The parser names file and line itself.
      if (absl::StartsWith(rule.status().message(), absl::StrCat(Printable(file_name), ":")))
        return rule.status();
      return ErrorAt(file_name, name_line, 1,
                     absl::StrCat("rule ", name, ": ", rule.status().message()));
    }
    rules.push_back(*std::move(rule));
    return absl::OkStatus();
  };
  size_t line_number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++line_number;
    absl::string_view rest = line;
    if (absl::ConsumePrefix(&rest, "rule ")) {
      RETURN_IF_ERROR(finish());
      name = Printable(absl::StripAsciiWhitespace(rest));
      name_line = line_number;
      // Lines keep their numbers.
      body.assign(line_number, '\n');
      marks = Marks();
      in_graphs = false;
      continue;
    }
    if (name_line == 0) {
      if (absl::StripAsciiWhitespace(line).empty() || absl::StartsWith(line, "#")) continue;
      return ErrorAt(file_name, line_number, 1, "expected rule NAME");
    }
    rest = absl::StripAsciiWhitespace(line);
    if (!in_graphs && rest == "once") {
      marks.once = true;
      line = "";
    } else if (!in_graphs && absl::ConsumePrefix(&rest, "where ")) {
      const auto column = static_cast<size_t>(rest.data() - line.data()) + 1;
      marks.conditions.push_back({std::string(rest), line_number, column});
      line = "";
    } else if (!rest.empty() && rest[0] != '#') {
      in_graphs = true;
    }
    absl::StrAppend(&body, line, "\n");
  }
  RETURN_IF_ERROR(finish());
  if (rules.empty()) return ErrorAt(file_name, 1, 1, "there are no rules");
  return rules;
}

absl::StatusOr<RewriteRule> ParsePattern(absl::string_view text, absl::string_view file_name) {
  return ParseRule("pattern", std::string(text), file_name, /*replaces=*/false, Marks());
}

absl::Status ApplyRules(absl::Span<const RewriteRule> rules, Module* module,
                        std::vector<size_t>* counts) {
  if (counts != nullptr) counts->resize(rules.size());
  for (Graph* graph : module->graphs()) RETURN_IF_ERROR(Rewriter(rules, graph).Run(counts));
  return absl::OkStatus();
}

std::vector<PatternMatch> FindMatches(const RewriteRule& rule, Graph* graph) {
  Rewriter rewriter(absl::MakeConstSpan(&rule, 1), graph);
  std::vector<PatternMatch> found;
  for (Node* node : graph->nodes()) {
    PatternMatch match;
    if (node->is_call() && rewriter.Matches(rule, node, &match)) found.push_back(std::move(match));
  }
  return found;
}

std::vector<PatternMatch> FindOccurrences(const RewriteRule& rule, Graph* graph) {
  std::vector<PatternMatch> found;
  for (Node* node : graph->nodes()) {
    PatternMatch match;
    if (node->is_call() && Matcher(rule, &match, nullptr).Anchor(Rewriter::AnchorOf(rule), node))
      found.push_back(std::move(match));
  }
  return found;
}

std::string WhyNoMatch(const RewriteRule& rule, Module* module) {
  const Node& anchor = Rewriter::AnchorOf(rule);
  const auto last_part = [](absl::string_view target) {
    return target.substr(target.rfind('.') + 1);  // all of it without a dot
  };
  size_t calls = 0;
  std::map<std::string, size_t> reasons, relatives;
  for (Graph* graph : module->graphs()) {
    Rewriter rewriter(absl::MakeConstSpan(&rule, 1), graph);
    for (Node* node : graph->nodes()) {
      if (!node->is_call()) continue;
      if (!HasTarget(rule, anchor, *node)) {
        if (last_part(node->target()) == last_part(anchor.target())) {
          ++relatives[absl::StrCat(node->op() == Op::kCallMethod ? "." : "", node->target())];
        }
        continue;
      }
      ++calls;
      PatternMatch match;
      std::string why;
      rewriter.Matches(rule, node, &match, &why);
      ++reasons[why.empty() ? "in another way" : why];
    }
  }
  const auto times = [](size_t n) { return n == 1 ? "once" : absl::StrCat(n, " times"); };
  const auto most = [](const std::map<std::string, size_t>& counts) {
    return absl::c_max_element(counts,
                               [](const auto& a, const auto& b) { return a.second < b.second; });
  };
  std::string target = absl::StrCat(anchor.op() == Op::kCallMethod ? "." : "", anchor.target());
  if (calls == 0) {
    if (const auto more = rule.more_targets.find(&anchor); more != rule.more_targets.end()) {
      for (const TargetChoice& choice : more->second)
        absl::StrAppend(&target, "|", choice.op == Op::kCallMethod ? "." : "", choice.target);
    }
    std::string what = absl::StrCat(target, " does not occur");
    if (!relatives.empty()) {
      const auto near = most(relatives);
      absl::StrAppend(&what, "; ", near->first, " does, ", times(near->second));
    }
    return what;
  }
  const auto reason = most(reasons);
  const std::string how = reason->second == calls ? (calls == 1 ? "" : "always ")
                                                  : absl::StrCat(times(reason->second), " ");
  return absl::StrCat(target, " occurs ", times(calls), ", ", how, reason->first);
}

}  // namespace graphnet
