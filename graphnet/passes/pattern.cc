#include "graphnet/passes/pattern.h"

#include <map>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/arena.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/memory/memory_use.h"
#include "graphnet/ir/node_table.h"
#include "graphnet/ops/wildcard.h"
#include "graphnet/passes/pattern_matcher.h"

namespace graphnet {
namespace {

constexpr size_t kApplicationsPerNode = 8;

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

  // Returns whether `rule` can be applied at `node`; `why`, which may be null, takes the obstacle.
  bool Matches(const RewriteRule& rule, Node* node, PatternMatch* match,
               std::string* why = nullptr) {
    if (!PatternMatcher(rule, match, why).Anchor(AnchorOf(rule), node)) return false;
    const char* reason = !IsClosed(*match)       ? "with a value inside that is used elsewhere"
                         : WritesBetween(*match) ? "with a write to memory in between"
                         : rule.where != nullptr && !rule.where(*match)
                             ? "where its predicate refuses"
                         : rule.replacement != nullptr && MixesUpWrites(*rule.replacement, *match)
                             ? "where the operand that it returns is written to"
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
        // Go on with the first new node; the nodes before it may be gone, too.
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

  // Returns whether a rule that is applied once made part of the match.
  bool WasMadeBy(size_t rule, const PatternMatch& match) const {
    return rules_[rule].once && absl::c_any_of(match.nodes, [&](const Node* node) {
             const auto it = made_by_.find(node);
             return it != made_by_.end() && absl::c_linear_search(it->second, rule);
           });
  }

  // Returns whether a rule that returns an operand would merge two values that must stay distinct:
  // `b.unsqueeze_(0)` changes the shape of b, but not of the tensor that b is a view of.
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

  // Returns whether the inner nodes have no users outside the match.
  static bool IsClosed(const PatternMatch& match) {
    for (const Node* node : absl::MakeConstSpan(match.nodes).subspan(1)) {
      for (const Use& use : node->uses()) {
        if (!absl::c_linear_search(match.nodes, use.user)) return false;
      }
    }
    return true;
  }

  // Returns whether a call between the first node and the anchor that is not part of the match
  // writes to memory.
  bool WritesBetween(const PatternMatch& match) {
    if (match.nodes.size() == 1) return false;
    if (!writers_before_.has_value()) {
      writers_before_.emplace(*graph_->module());
      size_t writers = 0;
      for (const Node* node : graph_->nodes()) {
        (*writers_before_)[node] = writers;
        writers += node->is_call() && !MemoryUseOf(*node).written.empty() ? 1 : 0;
      }
    }
    const Node* first = match.nodes[0];
    size_t own = 0;
    for (const Node* node : match.nodes) {
      if (node->IsBefore(first)) first = node;
      own += node != match.nodes[0] && !MemoryUseOf(*node).written.empty() ? 1 : 0;
    }
    return (*writers_before_)[match.nodes[0]] - (*writers_before_)[first] > own;
  }

  void Apply(size_t rule, const PatternMatch& match) {
    const Graph& replacement = *rules_[rule].replacement;
    Node* const anchor = match.nodes[0];
    // A result inherits the makers of the nodes that it replaces.
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
          // Keywords of the replacement take precedence.
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
      if (writers_before_.has_value()) {
        const size_t before = (*writers_before_)[anchor];
        (*writers_before_)[last] = before;
      }
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
    if (writes) writers_before_.reset();
  }

  // Appends the arguments that `templates` stand for.
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
  // The number of calls before a node that write to memory; computed on first use.
  std::optional<NodeTable<size_t>> writers_before_;
  // The once-only rules that made each node.
  absl::flat_hash_map<const Node*, std::vector<size_t>> made_by_;
};

// Returns the matches at all calls at which `matches` is true.
template <typename Fn>
std::vector<PatternMatch> FindWhere(Graph* graph, Fn&& matches) {
  std::vector<PatternMatch> found;
  for (Node* node : graph->nodes()) {
    PatternMatch match;
    if (node->is_call() && matches(node, &match)) found.push_back(std::move(match));
  }
  return found;
}

}  // namespace

absl::Status ApplyRules(absl::Span<const RewriteRule> rules, Module* module,
                        std::vector<size_t>* counts) {
  if (counts != nullptr) counts->resize(rules.size());
  for (Graph* graph : module->graphs()) RETURN_IF_ERROR(Rewriter(rules, graph).Run(counts));
  return absl::OkStatus();
}

std::vector<PatternMatch> FindMatches(const RewriteRule& rule, Graph* graph) {
  Rewriter rewriter(absl::MakeConstSpan(&rule, 1), graph);
  return FindWhere(
      graph, [&](Node* node, PatternMatch* match) { return rewriter.Matches(rule, node, match); });
}

std::vector<PatternMatch> FindOccurrences(const RewriteRule& rule, Graph* graph) {
  return FindWhere(graph, [&](Node* node, PatternMatch* match) {
    return PatternMatcher(rule, match, nullptr).Anchor(Rewriter::AnchorOf(rule), node);
  });
}

std::string WhyNoMatch(const RewriteRule& rule, Module* module) {
  const Node& anchor = Rewriter::AnchorOf(rule);
  const auto last_part = [](absl::string_view target) {
    return target.substr(target.rfind('.') + 1);  // the whole target if it has no dot
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
