#include "graphnet/passes/pattern_matcher.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/parameter_names.h"
#include "graphnet/passes/call_meaning.h"

namespace graphnet {
namespace {

bool HoldsNode(const Argument& argument) {
  bool holds = false;
  ForEachArgument(argument, [&](const Argument& a) { holds |= a.is_node() || a.is_graph(); });
  return holds;
}

// Compares two bodies node by node, ignoring names.
class SameBody {
 public:
  bool Graphs(const Graph& a, const Graph& b) {
    if (a.num_nodes() != b.num_nodes()) return false;
    for (auto x = a.nodes().begin(), y = b.nodes().begin(); x != a.nodes().end(); ++x, ++y) {
      if (!Nodes(**x, **y)) return false;
      same_[*x] = *y;
    }
    return true;
  }

 private:
  bool Nodes(const Node& a, const Node& b) {
    if (a.op() != b.op() || (a.is_call() && a.target() != b.target())) return false;
    const auto same_keywords = [this](const KwArg& x, const KwArg& y) {
      return x.name == y.name && Arguments(x.value, y.value);
    };
    return All(a.args(), b.args()) && absl::c_equal(a.kwargs(), b.kwargs(), same_keywords);
  }
  bool All(absl::Span<const Argument> a, absl::Span<const Argument> b) {
    return absl::c_equal(a, b,
                         [this](const Argument& x, const Argument& y) { return Arguments(x, y); });
  }
  bool Arguments(const Argument& a, const Argument& b) {
    if (a.is_node()) return b.is_node() && same_[a.node()] == b.node();
    if (a.is_graph()) return b.is_graph() && SameBody().Graphs(*a.graph(), *b.graph());
    if (a.is_sequence()) return b.is_sequence() && All(a.elements(), b.elements());
    return a == b;
  }

  absl::flat_hash_map<const Node*, const Node*> same_;
};

std::optional<double> NumberOf(const Argument& value) {
  if (value.is_bool()) return value.boolean() ? 1 : 0;
  if (value.is_int()) return static_cast<double>(value.integer());
  if (value.is_float()) return value.real();
  return std::nullopt;
}

bool AreEqual(const Argument& a, const Argument& b) {
  if (a.is_sequence() && b.is_sequence())
    return absl::c_equal(a.elements(), b.elements(), AreEqual);
  const std::optional<double> x = NumberOf(a), y = NumberOf(b);
  return a == b || (x.has_value() && y.has_value() && *x == *y);
}

// Returns whether the argument of a call satisfies the relation with the constant of a query.
bool Compares(const Argument& value, ArgumentCondition::Relation relation, const Argument& with) {
  using Relation = ArgumentCondition::Relation;
  if (relation == Relation::kNotEqual)
    return !HoldsNode(value) && !Compares(value, Relation::kEqual, with);
  if (relation == Relation::kIn) {
    return with.is_sequence() && absl::c_any_of(with.elements(), [&](const Argument& one) {
             return Compares(value, Relation::kEqual, one);
           });
  }
  if (value.is_sequence() && !with.is_sequence()) {
    return !value.elements().empty() && absl::c_all_of(value.elements(), [&](const Argument& one) {
      return !one.is_sequence() && Compares(one, relation, with);
    });
  }
  if (relation == Relation::kEqual) return AreEqual(value, with);
  const std::optional<double> x = NumberOf(value), y = NumberOf(with);
  if (!x.has_value() || !y.has_value()) return false;
  switch (relation) {
    case Relation::kLess: return *x < *y;
    case Relation::kLessEqual: return *x <= *y;
    case Relation::kGreater: return *x > *y;
    default: return *x >= *y;
  }
}

// Moves the next argument from the keywords to its position. Returns false if it is not there.
bool TakeKeyword(absl::Span<const PositionalParameter> parameters, std::vector<Argument>* args,
                 std::vector<KwArg>* keywords) {
  if (args->size() >= parameters.size()) return false;
  const auto it = absl::c_find_if(
      *keywords, [&](const KwArg& kwarg) { return kwarg.name == parameters[args->size()].name; });
  if (it == keywords->end()) return false;
  args->push_back(it->value);
  keywords->erase(it);
  return true;
}

}  // namespace

bool HasTarget(const RewriteRule& rule, const Node& pattern, const Node& node) {
  if (node.op() == pattern.op() && node.target() == pattern.target()) return true;
  const auto more = rule.more_targets.find(&pattern);
  return more != rule.more_targets.end() &&
         absl::c_any_of(more->second, [&](const TargetChoice& choice) {
           return choice.op == node.op() && choice.target == node.target();
         });
}

bool PatternMatcher::Anchor(const Node& pattern, Node* node) {
  return MatchNode(pattern, node) &&
         absl::c_all_of(rule_.types, [this](const TypeCondition& type) { return IsOf(type); });
}

bool PatternMatcher::MatchNode(const Node& pattern, Node* node) {
  const auto it = made_.find(&pattern);
  if (it != made_.end()) return it->second == node || Fail("with two values for one");
  if (!HasTarget(rule_, pattern, *node)) {
    return Fail("with a value of ", node->is_call() ? node->target() : OpName(node->op()),
                " for that of ", pattern.target());
  }
  if (!rule_.commuting.contains(&pattern)) return MatchCall(pattern, node, /*swapped=*/false);
  // Save the state: a failed first try must leave no trace.
  const auto made = made_;
  const auto parameters = match_.parameters;
  const auto keywords = match_.keywords;
  const auto element = element_;
  const size_t nodes = match_.nodes.size();
  if (MatchCall(pattern, node, /*swapped=*/false)) return true;
  made_ = made;
  match_.parameters = parameters;
  match_.keywords = keywords;
  element_ = element;
  match_.nodes.resize(nodes);
  return MatchCall(pattern, node, /*swapped=*/true);
}

bool PatternMatcher::MatchCall(const Node& pattern, Node* node, bool swapped) {
  made_[&pattern] = node;
  match_.nodes.push_back(node);

  absl::Span<const Argument> patterns = pattern.args();
  const bool is_variadic = !patterns.empty() && IsVariadic(patterns.back());
  const size_t positional = patterns.size() - (is_variadic ? 1 : 0);
  absl::Span<const Argument> values = node->args();
  std::vector<KwArg> keywords(node->kwargs().begin(), node->kwargs().end());
  if (rule_.turning.contains(&pattern) && MeaningOf(node->op(), node->target()).is_reflected) {
    std::vector<Argument> moved(values.begin(), values.end());
    const std::vector<PositionalParameter> names = ParametersOf(*node);
    while (moved.size() < 2 && TakeKeyword(names, &moved, &keywords)) {
    }
    if (moved.size() < 2) return Fail("with one argument");
    std::swap(moved[0], moved[1]);
    values = match_.moved.emplace_back(std::move(moved));
  }
  if (is_variadic ? values.size() < positional : values.size() != positional) {
    std::vector<Argument> moved(values.begin(), values.end());
    if (!Rearrange(*node, patterns, is_variadic, &moved, &keywords)) return false;
    values = match_.moved.emplace_back(std::move(moved));
  }
  if (swapped) {
    if (values.size() < 2) return Fail("with one argument");
    std::vector<Argument> moved(values.begin(), values.end());
    std::swap(moved[0], moved[1]);
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
    // The binding must live as long as the match.
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
  for (const ArgumentCondition& condition : rule_.arguments) {
    if (condition.call == &pattern && !Holds(condition, *node))
      return Fail("with another ", condition.name, "=");
  }
  return MatchAll(patterns, values, /*in_list=*/false);
}

bool PatternMatcher::Holds(const ArgumentCondition& condition, const Node& node) {
  const Callable callee = CalleeOf(node);
  const Argument* value = nullptr;
  const SchemaArgument* parameter = nullptr;
  const std::vector<PositionalParameter> names = ParametersOf(node);
  for (size_t i = 0; i < std::min(names.size(), node.args().size()); ++i) {
    if (names[i].name != condition.name) continue;
    value = &node.args()[i];
    parameter = names[i].argument;
  }
  for (const KwArg& kwarg : node.kwargs()) {
    if (kwarg.name == condition.name) value = &kwarg.value;
  }
  for (const Schema& schema : callee.overloads) {
    if (parameter == nullptr) parameter = schema.FindArgument(condition.name);
  }
  const bool has_default = parameter != nullptr && parameter->has_default;
  if (value == nullptr && has_default) value = &parameter->default_value;
  if (value == nullptr) return false;
  if (Compares(*value, condition.relation, condition.value)) return true;
  // Two values may both be the default, written in different ways.
  return condition.relation == ArgumentCondition::Relation::kEqual && has_default &&
         parameter->IsDefault(*value) && parameter->IsDefault(condition.value);
}

bool PatternMatcher::Rearrange(const Node& node, absl::Span<const Argument> patterns,
                               bool is_variadic, std::vector<Argument>* args,
                               std::vector<KwArg>* keywords) {
  const size_t positional = patterns.size() - (is_variadic ? 1 : 0);
  const std::vector<PositionalParameter> names = ParametersOf(node);
  while (args->size() < positional && args->size() < names.size()) {
    if (TakeKeyword(names, args, keywords)) continue;
    const SchemaArgument& parameter = *names[args->size()].argument;
    const bool is_wildcard = patterns[args->size()].is_node();
    if (!rule_.is_query || is_wildcard || !parameter.has_default) break;
    args->push_back(parameter.default_value);
  }
  while (args->size() > positional && (args->size() <= names.size() || rule_.is_query)) {
    if (args->size() <= names.size())
      keywords->insert(keywords->begin(), {names[args->size() - 1].name, args->back()});
    args->pop_back();
  }
  if (args->size() == positional || (is_variadic && args->size() > positional)) return true;
  return Fail("with ", node.args().size(), node.args().size() == 1 ? " argument" : " arguments");
}

bool PatternMatcher::MatchAll(absl::Span<const Argument> patterns,
                              absl::Span<const Argument> values, bool in_list) {
  const auto spread = absl::c_find_if(patterns, [&](const Argument& a) {
    return in_list ? IsSpread(a, rule_.each) : IsVariadic(a);
  });
  const auto before = static_cast<size_t>(spread - patterns.begin());
  if (spread != patterns.end()) {
    const size_t others = patterns.size() - 1;
    Node& node = *spread->node();
    const bool fits =
        values.size() >= others &&
        (IsVariadic(*spread) ? Bind(node, values.subspan(before, values.size() - others))
                             : MatchEach(node, values.subspan(before, values.size() - others)));
    if (!fits) return Fail("with other arguments for *%", node.name());
  } else if (patterns.size() != values.size()) {
    return Fail("with a list of another length");
  }
  for (size_t i = 0; i < patterns.size(); ++i) {
    if (i == before && spread != patterns.end()) continue;
    const size_t at = i < before ? i : values.size() - (patterns.size() - i);
    if (!MatchArgument(patterns[i], values[at])) return Fail("with another argument ", at + 1);
  }
  return true;
}

bool PatternMatcher::MatchEach(Node& pattern, absl::Span<const Argument> values) {
  if (values.empty()) return Fail("with an empty list");
  absl::flat_hash_map<absl::string_view, std::vector<Argument>> all;
  for (const Argument& value : values) {
    for (const Node* node : rule_.each) made_.erase(node);
    element_.clear();
    if (!MatchArgument(&pattern, value)) return false;
    for (const auto& [parameter, argument] : element_) all[parameter].push_back(argument);
  }
  element_.clear();
  for (auto& [parameter, arguments] : all) {
    const absl::Span<const Argument> kept = match_.moved.emplace_back(std::move(arguments));
    const auto [known, is_new] = match_.parameters.try_emplace(parameter, kept);
    if (!is_new && !absl::c_equal(known->second, kept))
      return Fail("with other values for %", parameter);
  }
  return true;
}

bool PatternMatcher::MatchArgument(const Argument& pattern, const Argument& value) {
  if (pattern.is_node()) {
    const Node& node = *pattern.node();
    if (!node.is_placeholder()) return value.is_node() && MatchNode(node, value.node());
    const Wildcard wildcard = WildcardOf(node);
    if ((wildcard == Wildcard::kValue || wildcard == Wildcard::kEach) && !value.is_node())
      return Fail("with a constant for %", node.name());
    if (wildcard == Wildcard::kLiteral && HoldsNode(value))
      return Fail("with a value for %", node.name());
    if (wildcard == Wildcard::kEach) {
      const auto [known, is_new] = element_.try_emplace(node.target(), value);
      return is_new || known->second == value;
    }
    return Bind(node, absl::MakeConstSpan(&value, 1));
  }
  if (pattern.is_graph() && value.is_graph())
    return SameBody().Graphs(*pattern.graph(), *value.graph());
  // As in PyTorch, a tuple counts as a list.
  if (pattern.is_sequence() && value.is_sequence())
    return MatchAll(pattern.elements(), value.elements(), /*in_list=*/true);
  if (pattern.is_aggregate()) {
    return pattern.kind() == value.kind() &&
           MatchAll(pattern.elements(), value.elements(), /*in_list=*/true);
  }
  return pattern == value;
}

bool PatternMatcher::Bind(const Node& parameter, absl::Span<const Argument> values) {
  const auto [it, is_new] = match_.parameters.try_emplace(parameter.target(), values);
  return is_new || absl::c_equal(it->second, values);
}

bool PatternMatcher::IsOf(const TypeCondition& type) {
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

bool PatternMatcher::HasSizes(const TypeCondition& type, absl::Span<const Dim> shape) {
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
    if (size.kind == Kind::kNumber && (!dim.is_static() || dim.value != size.number)) return false;
    if (size.kind != Kind::kName) continue;
    const auto [known, is_new] = sizes_.try_emplace(size.name, dim);
    if (!is_new && !(known->second == dim)) return false;
  }
  return true;
}

}  // namespace graphnet
