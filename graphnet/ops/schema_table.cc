#include "graphnet/ops/schema_table.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graphnet/base/check.h"
#include "graphnet/ops/schema_text.h"

namespace graphnet {
namespace {

struct Table {
  std::vector<Schema> schemas;
  // Where the overloads of a name begin and how many they are.
  absl::flat_hash_map<absl::string_view, std::pair<size_t, size_t>> by_name;
  absl::flat_hash_map<absl::string_view, const Schema*> by_target;
  std::vector<Signature> signatures;
  absl::flat_hash_map<absl::string_view, const Signature*> signature_by_name;
  absl::flat_hash_set<absl::string_view> public_functions;
};

Table* MakeTable() {
  auto* table = new Table;
  for (const absl::string_view line : absl::StrSplit(SchemaText(), '\n', absl::SkipEmpty())) {
    if (line[0] == '#') continue;
    absl::StatusOr<Schema> schema = ParseSchema(line);
    CHECK(schema.ok());  // A test parses every line.
    table->schemas.push_back(*std::move(schema));
  }
  for (size_t i = 0; i < table->schemas.size(); ++i) {
    const Schema& schema = table->schemas[i];
    auto& [begin, count] = table->by_name.try_emplace(schema.name, i, 0).first->second;
    ++count;
    CHECK(begin + count == i + 1);
    table->by_target.emplace(schema.target, &schema);
  }
  for (const absl::string_view line : absl::StrSplit(SignatureText(), '\n', absl::SkipEmpty())) {
    if (line[0] == '#') continue;
    absl::StatusOr<Signature> signature = ParseSignature(line);
    CHECK(signature.ok());
    table->signatures.push_back(*std::move(signature));
  }
  for (const Signature& signature : table->signatures) {
    table->signature_by_name.emplace(signature.name, &signature);
  }
  for (const absl::string_view line : absl::StrSplit(PublicText(), '\n', absl::SkipEmpty())) {
    if (line[0] != '#') table->public_functions.insert(line);
  }
  return table;
}

const Table& GetTable() {
  static const Table* const table = MakeTable();
  return *table;
}

// The edits (insert, drop, change) that make `a` of `b`; more than `most` counts as most + 1.
size_t EditDistance(absl::string_view a, absl::string_view b, size_t most) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > most) return most + 1;
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return std::min(row[b.size()], most + 1);
}

}  // namespace

absl::Span<const Schema> FindSchemas(absl::string_view name) {
  const Table& table = GetTable();
  const auto it = table.by_name.find(name);
  if (it == table.by_name.end()) return {};
  return absl::MakeConstSpan(table.schemas).subspan(it->second.first, it->second.second);
}

const Schema* FindOverload(absl::string_view target) {
  absl::ConsumePrefix(&target, "torch.ops.");
  const auto& by_target = GetTable().by_target;
  auto it = by_target.find(target);
  if (it == by_target.end() && absl::StartsWith(target, "aten.")) {
    it = by_target.find(absl::StrCat(target, ".default"));
  }
  return it == by_target.end() ? nullptr : it->second;
}

absl::Span<const Schema> AllSchemas() { return GetTable().schemas; }

const Signature* FindSignature(absl::string_view name) {
  const auto& signatures = GetTable().signature_by_name;
  const auto it = signatures.find(name);
  return it == signatures.end() ? nullptr : it->second;
}

bool IsPublicFunction(absl::string_view name) { return GetTable().public_functions.contains(name); }

std::vector<std::string> NearMisses(absl::string_view name) {
  const absl::string_view base = name.substr(name.rfind('.') + 1);
  const size_t most = 1 + base.size() / 5;
  std::vector<std::pair<size_t, absl::string_view>> found;
  absl::string_view last;
  for (const Schema& schema : GetTable().schemas) {
    if (schema.name == last) continue;
    last = schema.name;
    const size_t distance = EditDistance(base, schema.name, most);
    if (distance <= most) found.emplace_back(distance, schema.name);
  }
  std::sort(found.begin(), found.end());
  if (found.size() > 3) found.resize(3);
  std::vector<std::string> names;
  for (const auto& [distance, near] : found) names.emplace_back(near);
  return names;
}

}  // namespace graphnet
