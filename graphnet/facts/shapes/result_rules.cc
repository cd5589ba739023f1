#include "graphnet/facts/shapes/result_rules.h"

#include <iterator>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/node_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "graphnet/base/check.h"
#include "graphnet/base/status.h"
#include "graphnet/facts/shapes/result_text.h"

namespace graphnet {
namespace {

// Batching rules that operators of libraries may use. The other rules need ATen's parameters.
constexpr absl::string_view kGeneralBatchings[] = {"-", "dims", "like", "trailing"};

// The known words of a column, which rules that are added later may use.
using Words = absl::flat_hash_set<absl::string_view>;

struct Table {
  absl::flat_hash_map<absl::string_view, ResultRule> rules;
  absl::flat_hash_map<absl::string_view, absl::string_view> aliases;
  Words sizes, types;
};

// Rules of operators that are not ATen's.
struct AddedRules {
  absl::Mutex mutex;
  absl::node_hash_map<std::string, ResultRule> rules ABSL_GUARDED_BY(mutex);
};
AddedRules& TheAddedRules() {
  static auto* const added = new AddedRules;
  return *added;
}

// Returns false if the text after the colon is not a number.
bool ParseRule(absl::Span<const absl::string_view> words, ResultRule* rule) {
  const std::pair<absl::string_view, absl::string_view> sizes =
      absl::StrSplit(words[0], absl::MaxSplits(':', 1));
  rule->sizes = sizes.first;
  if (!sizes.second.empty()) {
    int rank = 0;
    if (!absl::SimpleAtoi(sizes.second, &rank)) return false;
    rule->rank = rank;
    rule->adds_rank = sizes.second[0] == '+' || sizes.second[0] == '-';
  }
  rule->type = words[1];
  rule->batching = words[2];
  return true;
}

const Table& GetTable() {
  static const Table* const table = [] {
    auto* made = new Table;
    for (const absl::string_view line : absl::StrSplit(ResultText(), '\n', absl::SkipEmpty())) {
      if (line[0] == '#') continue;
      const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
      CHECK(words.size() > 2);
      const bool is_alias = words[0] == "=";
      ResultRule rule;
      if (is_alias) {
        rule = made->rules[words[1]];
      } else {
        CHECK(ParseRule(words, &rule));
        made->sizes.insert(rule.sizes);
        made->types.insert(rule.type);
      }
      for (size_t i = is_alias ? 2 : 3; i < words.size(); ++i) {
        CHECK(made->rules.try_emplace(words[i], rule).second);
        if (is_alias) made->aliases[words[i]] = words[1];
      }
    }
    return made;
  }();
  return *table;
}

}  // namespace

const ResultRule& ResultRuleOf(absl::string_view name) {
  static const ResultRule kNone;
  const bool is_in_place = absl::EndsWith(name, "_") && !absl::EndsWith(name, "__");
  const auto find = [&](const auto& rules) {
    auto it = rules.find(name);
    if (it == rules.end() && is_in_place) it = rules.find(name.substr(0, name.size() - 1));
    return it == rules.end() ? &kNone : &it->second;
  };
  if (!absl::StrContains(name, "::")) return *find(GetTable().rules);
  AddedRules& added = TheAddedRules();
  const absl::ReaderMutexLock lock(&added.mutex);
  return *find(added.rules);
}

absl::StatusOr<ResultRule> ParseResultRule(absl::string_view text) {
  const std::vector<absl::string_view> words = absl::StrSplit(text, ' ', absl::SkipEmpty());
  if (words.size() != 3) {
    return absl::InvalidArgumentError(
        "expected three words, for sizes, dtype and batching, or = and an operator");
  }
  ResultRule rule;
  if (!ParseRule(words, &rule))
    return absl::InvalidArgumentError(
        absl::StrCat(words[0], ": expected a number after the colon"));
  const Table& table = GetTable();
  const auto find = [](const Words& all, absl::string_view word,
                       absl::string_view column) -> absl::StatusOr<absl::string_view> {
    if (const auto it = all.find(word); it != all.end()) return *it;
    std::vector<absl::string_view> sorted(all.begin(), all.end());
    absl::c_sort(sorted);
    return absl::InvalidArgumentError(absl::StrCat("\"", word, "\" is not a word for ", column,
                                                   "; known: ", absl::StrJoin(sorted, " ")));
  };
  ASSIGN_OR_RETURN(rule.sizes, find(table.sizes, rule.sizes, "sizes"));
  ASSIGN_OR_RETURN(rule.type, find(table.types, rule.type, "the dtype"));
  ASSIGN_OR_RETURN(rule.batching,
                   find(Words(std::begin(kGeneralBatchings), std::end(kGeneralBatchings)),
                        rule.batching, "batching"));
  return rule;
}

void AddResultRule(absl::string_view name, const ResultRule& rule) {
  AddedRules& added = TheAddedRules();
  const absl::MutexLock lock(&added.mutex);
  added.rules.try_emplace(name, rule);
}

bool IsPointwise(const Schema& schema) {
  if (schema.returns.size() != 1 || schema.returns[0].kind != SchemaType::Kind::kTensor ||
      schema.returns[0].is_list) {
    return false;
  }
  return schema.is_pointwise || ResultRuleOf(schema.name).sizes == "broadcast";
}

absl::string_view CommonName(absl::string_view name) {
  const auto it = GetTable().aliases.find(name);
  return it == GetTable().aliases.end() ? name : it->second;
}

std::vector<absl::string_view> OperatorsWithRules() {
  std::vector<absl::string_view> names;
  for (const auto& [name, rule] : GetTable().rules) names.push_back(name);
  absl::c_sort(names);
  return names;
}

}  // namespace graphnet
