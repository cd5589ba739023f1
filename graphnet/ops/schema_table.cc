#include "graphnet/ops/schema_table.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/base/check.h"
#include "graphnet/base/near_miss.h"
#include "graphnet/ops/foreign_operators.h"
#include "graphnet/ops/schema_text.h"

namespace graphnet {
namespace {

// Schemas, indexed by name.
struct Rows {
  std::vector<Schema> all;  // schemas of the same name are adjacent
  absl::flat_hash_map<absl::string_view, std::pair<size_t, size_t>> by_name;  // begin, count

  void Index() {
    for (size_t i = 0; i < all.size(); ++i) {
      auto& [begin, count] = by_name.try_emplace(all[i].name, i, 0).first->second;
      ++count;
      CHECK(begin + count == i + 1);
    }
  }
  absl::Span<const Schema> Find(absl::string_view name) const {
    const auto it = by_name.find(name);
    if (it == by_name.end()) return {};
    return absl::MakeConstSpan(all).subspan(it->second.first, it->second.second);
  }
};

struct Table {
  Rows operators;
  Rows functions;
  absl::flat_hash_map<absl::string_view, const Schema*> by_target;  // of operators
  absl::flat_hash_set<std::string> public_functions;                // "torch.fft.rfft"
  absl::flat_hash_set<std::string> torchscript;                     // "aten::append"
  std::deque<std::vector<absl::string_view>> words;
};

template <typename Fn>
void ForEachLine(absl::string_view text, Fn&& fn) {
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    if (line[0] != '#') fn(line);
  }
}

void Parse(absl::string_view text, std::vector<Schema>* schemas) {
  ForEachLine(text, [&](absl::string_view line) {
    absl::StatusOr<Schema> schema = ParseSchema(line);
    CHECK(schema.ok());  // A test parses every line.
    schemas->push_back(*std::move(schema));
  });
}

// Reads the operators of fused.txt. fused.cc reads the other lines.
void ParseFused(std::vector<Schema>* schemas) {
  ForEachLine(FusedText(), [&](absl::string_view line) {
    if (!absl::ConsumePrefix(&line, "operator ")) return;
    absl::StatusOr<Schema> schema = ParseSchema(line);
    CHECK(schema.ok());  // A test parses every line.
    schemas->push_back(*std::move(schema));
  });
}

// Sets the words that parameters accept (words.txt).
void AddWords(Table* table) {
  absl::flat_hash_map<absl::string_view, absl::Span<const absl::string_view>> words;
  ForEachLine(WordText(), [&](absl::string_view line) {
    table->words.push_back(absl::StrSplit(line, ' '));
    words[table->words.back()[0]] = absl::MakeConstSpan(table->words.back()).subspan(1);
  });
  for (Rows* rows : {&table->operators, &table->functions}) {
    for (Schema& schema : rows->all) {
      for (SchemaArgument& argument : schema.arguments) {
        const bool is_string =
            argument.type.kind == SchemaType::Kind::kString || argument.default_value.is_string();
        auto it = words.find(absl::StrCat(schema.name, ".", argument.name));
        if (it == words.end() && is_string) it = words.find(argument.name);
        if (it != words.end() && argument.type.kind != SchemaType::Kind::kInt) {
          argument.words = it->second;
        }
      }
    }
  }
}

Table* MakeTable() {
  auto* table = new Table;
  Parse(SchemaText(), &table->operators.all);
  table->operators.Index();
  for (const Schema& schema : table->operators.all) {
    table->by_target.emplace(schema.target, &schema);
  }
  Parse(CallableText(), &table->functions.all);
  ParseFused(&table->functions.all);
  table->functions.Index();
  std::vector<Schema> signatures;
  Parse(SignatureText(), &signatures);
  for (Schema& schema : signatures) {
    if (table->functions.Find(schema.name).empty()) {
      table->functions.all.push_back(std::move(schema));
    }
  }
  table->functions.by_name.clear();
  table->functions.Index();
  AddWords(table);
  ForEachLine(TorchScriptText(), [&](absl::string_view line) {
    const std::vector<absl::string_view> names = absl::StrSplit(line, ' ');
    for (size_t i = 1; i < names.size(); ++i) {
      table->torchscript.insert(absl::StrCat(names[0], "::", names[i]));
    }
  });
  ForEachLine(PublicText(), [&](absl::string_view line) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    for (size_t i = 1; i < words.size(); ++i) {
      table->public_functions.insert(absl::StrCat(words[0], ".", words[i]));
    }
  });
  return table;
}

const Table& GetTable() {
  static const Table* const table = MakeTable();
  return *table;
}

}  // namespace

absl::Span<const Schema> FindSchemas(absl::string_view name) {
  return absl::StrContains(name, "::") ? FindKnownOperator(name) : GetTable().operators.Find(name);
}
absl::Span<const Schema> AllSchemas() { return GetTable().operators.all; }

absl::Span<const Schema> FindFunctions(absl::string_view name) {
  return GetTable().functions.Find(name);
}
absl::Span<const Schema> AllFunctions() { return GetTable().functions.all; }

const Schema* FindOverload(absl::string_view target) {
  absl::ConsumePrefix(&target, "torch.ops.");
  const auto& by_target = GetTable().by_target;
  auto it = by_target.find(target);
  if (it == by_target.end()) {
    if (!absl::StartsWith(target, "aten.")) return FindKnownOverload(target);
    it = by_target.find(absl::StrCat(target, ".default"));
  }
  return it == by_target.end() ? nullptr : it->second;
}

bool MayRun(absl::string_view name, absl::string_view overload) {
  if (GetTable().torchscript.contains(name)) return true;
  if (!absl::ConsumePrefix(&name, "aten::")) return false;
  const absl::Span<const Schema> overloads = FindSchemas(name);
  if (overload.empty()) overload = "default";
  for (const Schema& schema : overloads) {
    if (schema.overload == overload) return schema.may_run;
  }
  return !overloads.empty() &&
         absl::c_all_of(overloads, [](const Schema& schema) { return schema.may_run; });
}

bool IsPublicFunction(absl::string_view name) { return GetTable().public_functions.contains(name); }

std::vector<std::string> NearMisses(absl::string_view name) {
  const absl::string_view base = name.substr(name.rfind('.') + 1);
  const size_t most = 1 + base.size() / 5;
  std::vector<std::pair<size_t, absl::string_view>> found;
  absl::string_view last;
  for (const Schema& schema : GetTable().operators.all) {
    if (schema.name == last) continue;
    last = schema.name;
    const size_t distance = EditDistance(base, schema.name, most);
    if (distance <= most) found.emplace_back(distance, schema.name);
  }
  for (const Schema& schema : GetTable().functions.all) {
    if (!absl::StartsWith(schema.name, "fused.")) continue;
    const size_t distance = EditDistance(name, schema.name, most);
    if (distance <= most) found.emplace_back(distance, schema.name);
  }
  std::sort(found.begin(), found.end());
  if (found.size() > 3) found.resize(3);
  std::vector<std::string> names;
  for (const auto& [distance, near] : found) names.emplace_back(near);
  return names;
}

}  // namespace graphnet
