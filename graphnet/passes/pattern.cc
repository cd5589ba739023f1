#include "graphnet/passes/pattern.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/base/arena.h"
#include "graphnet/base/status.h"
#include "graphnet/ops/memory_use.h"
#include "graphnet/text/parser.h"

namespace graphnet {
namespace {

constexpr size_t kApplicationsPerNode = 8;

enum class Wildcard { kValue, kLiteral, kAny, kVariadic };

Wildcard WildcardOf(const Node& parameter) {
  if (parameter.annotation() == "literal") return Wildcard::kLiteral;
  if (parameter.annotation() == "any") return Wildcard::kAny;
  if (parameter.annotation() == "variadic") return Wildcard::kVariadic;
  return Wildcard::kValue;
}

bool IsVariadic(const Argument& argument) {
  return argument.is_node() && argument.node()->is_placeholder() &&
         WildcardOf(*argument.node()) == Wildcard::kVariadic;
}

bool IsSequence(const Argument& argument) { return argument.is_list() || argument.is_tuple(); }

bool HoldsNode(const Argument& argument) {
  bool holds = false;
  ForEachArgument(argument, [&](const Argument& a) { holds |= a.is_node() || a.is_graph(); });
  return holds;
}

// --- Matching ------------------------------------------------------------------

// Matches a pattern at an anchor.
class Matcher {
 public:
  explicit Matcher(PatternMatch* match) : match_(*match) {}
  bool Anchor(const Node& pattern, Node* node) { return MatchNode(pattern, node); }

 private:
  bool MatchNode(const Node& pattern, Node* node) {
    const auto it = made_.find(&pattern);
    if (it != made_.end()) return it->second == node;
    if (node->op() != pattern.op() || node->target() != pattern.target() ||
        node->kwargs().size() != pattern.kwargs().size()) {
      return false;
    }
    made_[&pattern] = node;
    match_.nodes.push_back(node);
    for (const KwArg& kwarg : pattern.kwargs()) {
      const Argument* value = node->kwarg(kwarg.name);
      if (value == nullptr || !MatchArgument(kwarg.value, *value)) return false;
    }
    return MatchAll(pattern.args(), node->args());
  }

  bool MatchAll(absl::Span<const Argument> patterns, absl::Span<const Argument> values) {
    if (!patterns.empty() && IsVariadic(patterns.back())) {
      const size_t n = patterns.size() - 1;
      if (values.size() < n || !Bind(*patterns.back().node(), values.subspan(n))) return false;
      patterns.remove_suffix(1);
      values = values.first(n);
    }
    if (patterns.size() != values.size()) return false;
    for (size_t i = 0; i < patterns.size(); ++i) {
      if (!MatchArgument(patterns[i], values[i])) return false;
    }
    return true;
  }

  bool MatchArgument(const Argument& pattern, const Argument& value) {
    if (pattern.is_node()) {
      const Node& node = *pattern.node();
      if (!node.is_placeholder()) return value.is_node() && MatchNode(node, value.node());
      const Wildcard wildcard = WildcardOf(node);
      if (wildcard == Wildcard::kValue && !value.is_node()) return false;
      if (wildcard == Wildcard::kLiteral && HoldsNode(value)) return false;
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

  PatternMatch& match_;
  absl::flat_hash_map<const Node*, Node*> made_;
};

// --- Applying ------------------------------------------------------------------

class Rewriter {
 public:
  Rewriter(absl::Span<const RewriteRule> rules, Graph* graph) : rules_(rules), graph_(graph) {
    for (size_t i = 0; i < rules.size(); ++i) {
      by_target_[AnchorOf(rules[i]).target()].push_back(i);
    }
  }

  // Whether `rule` can be applied at `node`.
  bool Matches(const RewriteRule& rule, Node* node, PatternMatch* match) {
    return Matcher(match).Anchor(AnchorOf(rule), node) && IsClosed(*match) &&
           !WritesBetween(*match) && (rule.where == nullptr || rule.where(*match));
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

 private:
  static const Node& AnchorOf(const RewriteRule& rule) {
    return *rule.pattern->output()->args()[0].node();
  }

  bool TryRules(Node* node, std::vector<size_t>* counts) {
    if (!node->is_call()) return false;
    const auto it = by_target_.find(node->target());
    if (it == by_target_.end()) return false;
    for (const size_t i : it->second) {
      PatternMatch match;
      if (!Matches(rules_[i], node, &match)) continue;
      if (MixesUpWrites(*rules_[i].replacement, match)) continue;
      Apply(*rules_[i].replacement, match);
      if (counts != nullptr) ++(*counts)[i];
      return true;
    }
    return false;
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

  void Apply(const Graph& replacement, const PatternMatch& match) {
    Node* const anchor = match.nodes[0];
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
        std::vector<Argument> value;
        Fill(absl::MakeConstSpan(&kwarg.value, 1), match, made, &arena, &value);
        kwargs.push_back({kwarg.name, value[0]});
      }
      last = graph_->CreateNode(node->op(), node->target(), args, kwargs, node->name());
      last->set_location(anchor->location());
      last->set_module_path(anchor->module_path());
      made[node] = last;
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
    for (const KwArg& kwarg : node->kwargs()) {
      if (IsVariadic(kwarg.value)) return error("a variadic parameter is no keyword's value");
      if (MisplacesVariadic(absl::MakeConstSpan(&kwarg.value, 1))) {
        return error("a variadic parameter is the last of a list");
      }
    }
  }
  return absl::OkStatus();
}

// Without `replaces`, of a pattern alone.
absl::StatusOr<RewriteRule> ParseRule(std::string name, absl::string_view text,
                                      absl::string_view file_name, bool replaces) {
  RewriteRule rule;
  rule.name = std::move(name);
  ASSIGN_OR_RETURN(rule.module, ParseModule(text, file_name));
  rule.pattern = rule.module->FindGraph("pattern");
  rule.replacement = rule.module->FindGraph("replacement");
  absl::flat_hash_set<absl::string_view> parameters;
  RETURN_IF_ERROR(CheckGraph(rule.pattern, "pattern", nullptr, &parameters));
  if (rule.pattern->output()->args()[0].node()->is_placeholder()) {
    return absl::InvalidArgumentError("@pattern: must return what a call yields");
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
    if (node == rule.replacement->output()->args()[0].node() && kind != Wildcard::kValue) {
      return absl::InvalidArgumentError("@replacement: returns what need not be a value");
    }
  }
  for (const Node* node : rule.replacement->nodes()) {
    if (node->is_call() && MisplacesVariadic(node->args())) {
      return absl::InvalidArgumentError(
          "@replacement: a variadic parameter is the last of the arguments or of a list");
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
  size_t name_line = 0;
  const auto finish = [&]() -> absl::Status {
    if (name_line == 0) return absl::OkStatus();
    absl::StatusOr<RewriteRule> rule = ParseRule(name, body, file_name, /*replaces=*/true);
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
      continue;
    }
    if (name_line == 0) {
      if (absl::StripAsciiWhitespace(line).empty() || absl::StartsWith(line, "#")) continue;
      return ErrorAt(file_name, line_number, 1, "expected rule NAME");
    }
    absl::StrAppend(&body, line, "\n");
  }
  RETURN_IF_ERROR(finish());
  if (rules.empty()) return ErrorAt(file_name, 1, 1, "there are no rules");
  return rules;
}

absl::StatusOr<RewriteRule> ParsePattern(absl::string_view text, absl::string_view file_name) {
  return ParseRule("pattern", text, file_name, /*replaces=*/false);
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

}  // namespace graphnet
