#include "graphnet/facts/shapes/result_rules.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "graphnet/base/check.h"
#include "graphnet/facts/shapes/result_text.h"

namespace graphnet {
namespace {

struct Table {
  absl::flat_hash_map<absl::string_view, ResultRule> rules;
  absl::flat_hash_map<absl::string_view, absl::string_view> aliases;
};

ResultRule ParseRule(const std::vector<absl::string_view>& words) {
  ResultRule rule;
  const std::pair<absl::string_view, absl::string_view> sizes =
      absl::StrSplit(words[0], absl::MaxSplits(':', 1));
  rule.sizes = sizes.first;
  if (!sizes.second.empty()) {
    int rank = 0;
    CHECK(absl::SimpleAtoi(sizes.second, &rank));
    rule.rank = rank;
    rule.adds_rank = sizes.second[0] == '+' || sizes.second[0] == '-';
  }
  rule.type = words[1];
  rule.batching = words[2];
  return rule;
}

const Table& GetTable() {
  static const Table* const table = [] {
    auto* made = new Table;
    for (const absl::string_view line : absl::StrSplit(ResultText(), '\n', absl::SkipEmpty())) {
      if (line[0] == '#') continue;
      const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
      CHECK(words.size() > 2);
      const bool is_alias = words[0] == "=";
      const ResultRule rule = is_alias ? made->rules[words[1]] : ParseRule(words);
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
  const auto& rules = GetTable().rules;
  auto it = rules.find(name);
  if (it == rules.end() && absl::EndsWith(name, "_") && !absl::EndsWith(name, "__"))
    it = rules.find(name.substr(0, name.size() - 1));
  return it == rules.end() ? kNone : it->second;
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
