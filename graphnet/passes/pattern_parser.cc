// Reads rules: the text form and the extra syntax of rules.
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
#include "graphnet/base/status.h"
#include "graphnet/ir/text/parser.h"
#include "graphnet/ops/wildcard.h"
#include "graphnet/passes/pattern.h"

namespace graphnet {
namespace {

// Returns whether an argument misuses spread parameters: a variadic one must be the only one of a
// sequence, and one for each element must be an element of that list only.
bool MisplacesInList(const Argument& argument, const EachNodes& each) {
  if (!argument.is_aggregate()) return false;
  const auto is_spread = [&](const Argument& a) { return IsSpread(a, each); };
  return absl::c_count_if(argument.elements(), is_spread) > (argument.is_sequence() ? 1 : 0) ||
         absl::c_any_of(argument.elements(),
                        [&](const Argument& a) { return MisplacesInList(a, each); });
}
bool MisplacesVariadic(absl::Span<const Argument> arguments, const EachNodes& each) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (IsVariadic(arguments[i]) && i + 1 < arguments.size()) return true;
    if (MisplacesInList(arguments[i], each)) return true;
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
  const EachNodes each = EachNodesOf(*graph);
  for (const Node* node : graph->nodes()) {
    if (node->is_placeholder()) {
      if (known != nullptr && !known->contains(node->target())) {
        return error(
            absl::StrCat("%", Printable(node->target()), " is not a parameter of the pattern"));
      }
      if (known == nullptr && !node->has_uses()) {
        return error(absl::StrCat("parameter %", Printable(node->target()), " is unused"));
      }
      used->insert(node->target());
      continue;
    }
    if (node->is_output()) continue;
    if (!node->is_call()) return error("only calls can be matched and made");
    if (!node->has_uses()) return error(absl::StrCat("unused value %", Printable(node->name())));
    if (MisplacesVariadic(node->args(), each))
      return error("a variadic parameter must end the arguments or be the only one in a list");
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
    if (rests > 1) return error("a call may take only one **%rest");
    if (misplaces) return error("a parameter for keywords must stand in a call, as **%rest");
    for (const KwArg& kwarg : node->kwargs()) {
      if (IsVariadic(kwarg.value)) return error("a variadic parameter cannot be a keyword's value");
      if (MisplacesInList(kwarg.value, each))
        return error("a list may hold only one variadic parameter");
    }
  }
  return absl::OkStatus();
}

// The syntax of rules beyond the text form: stars, alternative targets, conditions.
struct Marks {
  struct Choice {
    std::string node;
    TargetChoice target;
  };
  struct Condition {
    std::string text;  // the text after "where"
    size_t line = 0;
    size_t column = 0;
  };
  std::map<std::string, Wildcard> stars;  // by parameter
  std::vector<Choice> choices;            // for calls of the pattern
  std::vector<Condition> conditions;
  bool once = false;
};

bool IsNameChar(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
}

// Removes stars and alternative targets from a text without moving the rest: **%rest becomes
// _=%rest in a call, and the others become blanks.
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
  // Skips the stars of a multiplication; returns false if a parameter follows them.
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
      return Error(begin,
                   absl::StrCat("%", Printable(name_), " is written with one star and with two"));
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

// Reads "%x: f32[N, *]".
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
      return Error(absl::StrCat("%", Printable(name), " is not a value"));
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
          return Error("'...' may occur only once");
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

// If `replaces` is false, parses a pattern alone.
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
  if (rule.pattern != nullptr) rule.each = EachNodesOf(*rule.pattern);
  absl::flat_hash_set<absl::string_view> parameters;
  RETURN_IF_ERROR(CheckGraph(rule.pattern, "pattern", nullptr, &parameters));
  if (rule.pattern->output()->args()[0].node()->is_placeholder()) {
    return absl::InvalidArgumentError("@pattern: must return the result of a call");
  }
  if (rule.each.contains(rule.pattern->output()->args()[0].node())) {
    return absl::InvalidArgumentError("@pattern: must return one value, not one for each element");
  }
  for (Marks::Choice& choice : marks.choices) {
    const Node* node = rule.pattern->FindNode(choice.node);
    if (node != nullptr && node->is_call())
      rule.more_targets[node].push_back(std::move(choice.target));
  }
  for (const Marks::Condition& condition : marks.conditions) {
    ASSIGN_OR_RETURN(TypeCondition type,
                     ConditionReader(condition, file_name, *rule.pattern).Read());
    if (rule.each.contains(type.value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("%", Printable(type.value->name()),
                       " stands for several values, so it cannot have a type"));
    }
    rule.types.push_back(std::move(type));
  }
  if (!replaces) return rule;
  absl::flat_hash_set<absl::string_view> used;
  RETURN_IF_ERROR(CheckGraph(rule.replacement, "replacement", &parameters, &used));
  // The pattern says which kind a parameter is.
  absl::flat_hash_map<absl::string_view, Wildcard> kinds;
  for (const Node* node : rule.pattern->placeholders()) kinds[node->target()] = WildcardOf(*node);
  for (Node* node : rule.replacement->placeholders()) {
    const Wildcard kind = kinds.at(node->target());
    if (kind == Wildcard::kVariadic) node->set_annotation("variadic");
    if (kind == Wildcard::kKeywords) node->set_annotation("keywords");
    if (kind == Wildcard::kEach) node->set_annotation("each");
    if (node == rule.replacement->output()->args()[0].node() && kind != Wildcard::kValue) {
      return absl::InvalidArgumentError("@replacement: must return one value of the graph");
    }
  }
  // Each call of a replacement is made once, so it may only pass lists on.
  const EachNodes each = EachNodesOf(*rule.replacement);
  for (const Node* node : rule.replacement->nodes()) {
    if (node->is_call() && (each.contains(node) || MisplacesVariadic(node->args(), each))) {
      return absl::InvalidArgumentError(
          "@replacement: *%rest must come last or be the only one in a list; \"each\" must stand "
          "in "
          "a list");
    }
    // Only the pattern says which parameters are keywords, so check them here.
    for (const Argument& argument : node->args()) {
      bool holds = false;
      ForEachArgument(argument, [&](const Argument& a) { holds |= IsKeywords(a); });
      if (holds && node->is_call())
        return absl::InvalidArgumentError(
            "@replacement: a parameter for keywords must stand in a call, as **%rest");
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
  bool in_graphs = false;  // past the lines before them
  const auto finish = [&]() -> absl::Status {
    if (name_line == 0) return absl::OkStatus();
    absl::StatusOr<RewriteRule> rule = ParseRule(name, body, file_name, /*replaces=*/true, marks);
    if (!rule.ok()) {
      // This parser error names file and line already.
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
      // Blank lines keep the line numbers right.
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
  if (rules.empty()) return ErrorAt(file_name, 1, 1, "the file has no rules");
  return rules;
}

absl::StatusOr<RewriteRule> ParsePattern(absl::string_view text, absl::string_view file_name,
                                         absl::Span<const std::string> conditions) {
  Marks marks;
  for (const std::string& condition : conditions) marks.conditions.push_back({condition, 1, 1});
  return ParseRule("pattern", std::string(text), file_name, /*replaces=*/false, std::move(marks));
}

}  // namespace graphnet
