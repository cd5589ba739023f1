#include "graphnet/paddle/pir/rules.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <new>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "graphnet/base/arena.h"
#include "graphnet/base/check.h"
#include "graphnet/paddle/pir/operators.h"

namespace graphnet::pir {
namespace {

// Parses a row. The table is part of the program, so an error in a row ends the program.
class RuleParser {
 public:
  RuleParser(absl::string_view text, Arena* arena) : rest_(text), arena_(*arena) {}

  Rule Parse() {
    Rule rule;
    while (absl::ConsumePrefix(&rest_, " ")) {
    }
    rule.result = ParseTerm(&rule);
    CHECK(rest_.empty());
    return rule;
  }

  Argument ParseLiteral() {
    if (Take("True")) return true;
    if (Take("False")) return false;
    if (Take("None")) return Argument::None();
    if (Take("\"")) {
      const size_t end = rest_.find('"');
      const absl::string_view text = rest_.substr(0, end);
      rest_.remove_prefix(end + 1);
      return text;
    }
    if (Take("[")) {
      std::vector<Argument> elements;
      while (!Take("]")) {
        if (!elements.empty()) CHECK(Take(", "));
        elements.push_back(ParseLiteral());
      }
      Argument* const kept = arena_.NewArray<Argument>(elements.size());
      for (size_t i = 0; i < elements.size(); ++i) new (&kept[i]) Argument(elements[i]);
      return Argument::List(absl::MakeConstSpan(kept, elements.size()));
    }
    size_t size = 0;
    while (size < rest_.size() && (absl::ascii_isalnum(static_cast<unsigned char>(rest_[size])) ||
                                   rest_[size] == '.' || rest_[size] == '-')) {
      ++size;
    }
    const absl::string_view number = rest_.substr(0, size);
    rest_.remove_prefix(size);
    int64_t integer = 0;
    if (absl::SimpleAtoi(number, &integer)) return integer;
    double real = 0;
    CHECK(absl::SimpleAtod(number, &real));
    return real;
  }

 private:
  bool Take(absl::string_view token) { return absl::ConsumePrefix(&rest_, token); }

  absl::string_view Word() {
    size_t size = 0;
    while (size < rest_.size() &&
           (absl::ascii_isalnum(static_cast<unsigned char>(rest_[size])) || rest_[size] == '_')) {
      ++size;
    }
    const absl::string_view word = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return word;
  }

  Term ParseTerm(Rule* rule) {
    Term term;
    const bool is_helper = Take("$");
    const char first = rest_.empty() ? '\0' : rest_[0];
    const bool is_literal =
        !is_helper && (!absl::ascii_isalpha(static_cast<unsigned char>(first)) ||
                       absl::StartsWith(rest_, "True") || absl::StartsWith(rest_, "False") ||
                       absl::StartsWith(rest_, "None"));
    if (is_literal) {
      term.literal = ParseLiteral();
      return term;
    }
    term.name = Word();
    if (!Take("(")) {
      term.kind = Term::Kind::kParameter;
      term.may_lack = Take("?");
      return term;
    }
    term.kind = is_helper ? Term::Kind::kHelper : Term::Kind::kOperator;
    CHECK(is_helper || FindOperator(term.name) != nullptr);
    bool is_first = true;
    while (!Take(")")) {
      if (!is_first) CHECK(Take(", "));
      is_first = false;
      if (absl::StartsWith(rest_, "-") && rest_.size() > 1 &&
          absl::ascii_isalpha(static_cast<unsigned char>(rest_[1]))) {
        Take("-");
        rule->ignored.push_back(Word());
        continue;
      }
      const absl::string_view before = rest_;
      const absl::string_view keyword = Word();
      const bool has_keyword = !keyword.empty() && Take("=");
      if (!has_keyword) rest_ = before;
      term.arguments.push_back(ParseTerm(rule));
      if (has_keyword) term.arguments.back().keyword = keyword;
    }
    return term;
  }

  absl::string_view rest_;
  Arena& arena_;
};

using RuleTable = std::map<absl::string_view, std::vector<Rule>>;

RuleTable ReadRules() {
  static auto* const kept = new Arena();
  RuleTable table;
  for (absl::string_view line : absl::StrSplit(RuleText(), '\n')) {
    if (line.empty() || absl::StartsWith(line, "#")) continue;
    const size_t colon = line.find(": ");
    CHECK(colon != absl::string_view::npos);
    const std::vector<absl::string_view> head =
        absl::StrSplit(line.substr(0, colon), ' ', absl::SkipEmpty());
    Rule rule = RuleParser(line.substr(colon + 2), kept).Parse();
    for (size_t i = 2; i < head.size(); ++i) {  // behind "when"
      const size_t equals = head[i].find('=');
      rule.conditions.emplace_back(head[i].substr(0, equals),
                                   RuleParser(head[i].substr(equals + 1), kept).ParseLiteral());
    }
    table[head[0]].push_back(std::move(rule));
  }
  return table;
}

const RuleTable& Rules() {
  static const auto* const kTable = new RuleTable(ReadRules());
  return *kTable;
}

}  // namespace

absl::Span<const Rule> RulesOf(absl::string_view function) {
  const auto it = Rules().find(function);
  return it == Rules().end() ? absl::Span<const Rule>() : it->second;
}

Argument ParseLiteral(absl::string_view text) {
  static absl::Mutex mutex(absl::kConstInit);
  static auto* const kept = new Arena();
  const absl::MutexLock lock(&mutex);
  return RuleParser(text, kept).ParseLiteral();
}

void ForEachRule(void (*fn)(absl::string_view function, const Rule& rule)) {
  for (const auto& [function, rules] : Rules()) {
    for (const Rule& rule : rules) fn(function, rule);
  }
}

}  // namespace graphnet::pir
