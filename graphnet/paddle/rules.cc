#include "graphnet/paddle/rules.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/base/check.h"
#include "graphnet/ops/callable.h"
#include "graphnet/paddle/rule_text.h"

namespace graphnet {
namespace {

// Returns whether `word` is a literal, and if so sets `value`. Strings point into the table.
bool ParseLiteral(absl::string_view word, Argument* value) {
  if (word == "None" || word == "True" || word == "False") {
    *value = word == "None" ? Argument() : Argument(word == "True");
    return true;
  }
  if (word[0] == '"') {
    *value = Argument(word.substr(1, word.size() - 2));
    return true;
  }
  if (word == "inf" || word == "-inf") {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    *value = Argument(word == "inf" ? kInfinity : -kInfinity);
    return true;
  }
  int64_t integer = 0;
  double real = 0;
  if (absl::SimpleAtoi(word, &integer)) {
    *value = Argument(integer);
    return true;
  }
  if (!absl::ascii_isdigit(word.back()) || !absl::SimpleAtod(word, &real)) return false;
  *value = Argument(real);
  return true;
}

// Parses a call of the table. The table is part of the program, so an error in it ends the program;
// a test reads the whole table.
class CallParser {
 public:
  CallParser(absl::string_view text, PaddleRule* rule) : text_(text), rule_(rule) {}

  void Parse() {
    rule_->call = Term();
    CHECK(text_.empty());
    CHECK(rule_->call.kind == PaddleTerm::Kind::kCall);
  }

 private:
  absl::string_view Word() {
    const size_t end = std::min(text_.find_first_of(",()="), text_.size());
    const absl::string_view word = text_.substr(0, end);
    CHECK(!word.empty());
    text_.remove_prefix(end);
    return word;
  }

  PaddleTerm Term() {
    const bool is_tuple = absl::StartsWith(text_, "(");
    absl::string_view word = is_tuple ? "" : Word();
    PaddleTerm term;
    if (absl::ConsumePrefix(&text_, "(")) {
      term.kind = is_tuple ? PaddleTerm::Kind::kTuple : PaddleTerm::Kind::kCall;
      term.name = std::string(word);
      if (absl::ConsumeSuffix(&word, "*")) {
        term.name = absl::StrCat(word, rule_->name.substr(rule_->name.rfind('.') + 1));
      }
      while (!absl::ConsumePrefix(&text_, ")")) {
        AddArgument(&term);
        absl::ConsumePrefix(&text_, ", ");
      }
      return term;
    }
    if (ParseLiteral(word, &term.literal)) return term;
    term.kind = absl::ConsumePrefix(&word, "*")   ? PaddleTerm::Kind::kVariadic
                : absl::ConsumePrefix(&word, "@") ? PaddleTerm::Kind::kPieces
                                                  : PaddleTerm::Kind::kParameter;
    term.may_lack = absl::ConsumeSuffix(&word, "?");
    term.is_written = absl::ConsumeSuffix(&word, "!");
    term.name = std::string(word);
    return term;
  }

  void AddArgument(PaddleTerm* call) {
    if (text_.size() > 1 && text_[0] == '-' && !absl::ascii_isdigit(text_[1])) {
      text_.remove_prefix(1);
      rule_->dropped.push_back(Word());
      return;
    }
    absl::string_view keyword;
    const size_t end = text_.find_first_of(",()=");
    CHECK(end != absl::string_view::npos);
    if (text_[end] == '=') {
      keyword = text_.substr(0, end);
      text_.remove_prefix(end + 1);
    }
    call->arguments.push_back(Term());
    call->arguments.back().keyword = keyword;
  }

  absl::string_view text_;
  PaddleRule* const rule_;
};

// Parses a condition: "p=1", "p!=1", "p=Tensor", "p!=Bool".
PaddleCondition ParseCondition(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> sides =
      absl::StrSplit(text, absl::MaxSplits('=', 1));
  PaddleCondition condition;
  condition.parameter = sides.first;
  condition.is_not = absl::ConsumeSuffix(&condition.parameter, "!");
  using Kind = PaddleCondition::Kind;
  static constexpr std::pair<absl::string_view, Kind> kKinds[] = {{"Tensor", Kind::kTensor},
                                                                  {"Bool", Kind::kBool},
                                                                  {"Floating", Kind::kFloating},
                                                                  {"Uneven", Kind::kUneven},
                                                                  {"Whole", Kind::kWhole}};
  for (const auto& [word, kind] : kKinds) {
    if (sides.second == word) condition.kind = kind;
  }
  CHECK(condition.kind != Kind::kIs || ParseLiteral(sides.second, &condition.value));
  return condition;
}

void ParseRow(absl::string_view line, std::vector<PaddleRule>* rules) {
  const std::pair<absl::string_view, absl::string_view> halves =
      absl::StrSplit(line, absl::MaxSplits(": ", 1));
  std::vector<absl::string_view> words = absl::StrSplit(halves.first, ' ');
  PaddleRule rule;
  CHECK(absl::SimpleAtoi(words[0], &rule.mapping_class));
  CHECK(rule.mapping_class >= 1 && rule.mapping_class <= 7);
  if (words.size() > 3 && words[words.size() - 2] == "when") {
    for (const absl::string_view condition : absl::StrSplit(words.back(), ',')) {
      rule.conditions.push_back(ParseCondition(condition));
    }
    words.resize(words.size() - 2);
  }
  CHECK(words.size() > 1);
  absl::string_view reason = halves.second;
  rule.kind = reason == "keep"                     ? PaddleRule::Kind::kKeep
              : reason == "drop"                   ? PaddleRule::Kind::kDrop
              : absl::ConsumePrefix(&reason, "! ") ? PaddleRule::Kind::kNone
                                                   : PaddleRule::Kind::kCall;
  if (rule.kind == PaddleRule::Kind::kNone) rule.reason = reason;
  for (size_t i = 1; i < words.size(); ++i) {
    PaddleRule made = rule;
    made.name = std::string(words[i]);
    if (made.kind == PaddleRule::Kind::kCall) CallParser(halves.second, &made).Parse();
    rules->push_back(std::move(made));
  }
}

}  // namespace

absl::Span<const PaddleRule> AllPaddleRules() {
  static const auto* const table = [] {
    auto* rules = new std::vector<PaddleRule>;
    for (const absl::string_view line : absl::StrSplit(PaddleRuleText(), '\n', absl::SkipEmpty())) {
      if (line[0] != '#') ParseRow(line, rules);
    }
    // A stable sort keeps the order of rows with one name.
    absl::c_stable_sort(*rules,
                        [](const PaddleRule& a, const PaddleRule& b) { return a.name < b.name; });
    return rules;
  }();
  return *table;
}

absl::Span<const PaddleRule> PaddleRulesOf(absl::string_view name) {
  const absl::Span<const PaddleRule> all = AllPaddleRules();
  const auto first = absl::c_lower_bound(
      all, name,
      [](const PaddleRule& rule, absl::string_view wanted) { return rule.name < wanted; });
  auto last = first;
  while (last != all.end() && last->name == name) ++last;
  return all.subspan(static_cast<size_t>(first - all.begin()), static_cast<size_t>(last - first));
}

std::string PaddleRuleName(const std::string& target) {
  const Callable callee = FindCallable(Op::kCallFunction, target);
  if (callee.kind == Callable::Kind::kPythonOperator)
    return absl::StrCat("operator.", callee.python_operator->name);
  return callee.name.empty() ? target : std::string(callee.name);
}

PaddleRulesOfCall FindPaddleRulesOfCall(absl::string_view name) {
  constexpr absl::string_view kForEach = "_foreach_";
  PaddleRulesOfCall found = {.rules = PaddleRulesOf(name), .name = name};
  if (!found.rules.empty()) return found;
  found.for_each = absl::ConsumePrefix(&found.name, kForEach);
  found.rules = PaddleRulesOf(found.name);
  const bool in_place = absl::EndsWith(name, "_") && !absl::EndsWith(name, "__");
  if (found.rules.empty() && in_place) {
    found.in_place = true;
    found.rules = PaddleRulesOf(found.name.substr(0, found.name.size() - 1));
  }
  return found;
}

}  // namespace graphnet
