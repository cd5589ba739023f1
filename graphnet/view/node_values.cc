#include "graphnet/view/node_values.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "graphnet/base/near_miss.h"
#include "graphnet/base/status.h"
#include "graphnet/ir/text/printer.h"

namespace graphnet {
namespace {

constexpr absl::string_view kNodeColumn = "node";
constexpr size_t kMaxUnknownBytes = 100;
constexpr size_t kMaxColumns = 1000;

// The rows of a table: a name, and cells for columns.
struct NamedRows {
  std::vector<std::string> columns;
  std::vector<std::pair<std::string, std::vector<Json>>> rows;

  // Returns the number of a column, which is added if it is new. After too many, the last one stands for
  // all others.
  size_t Column(absl::string_view name) {
    const auto it = absl::c_find(columns, name);
    if (it != columns.end()) return static_cast<size_t>(it - columns.begin());
    if (columns.size() <= kMaxColumns) columns.emplace_back(name);
    return columns.size() - 1;
  }
  void Set(absl::string_view column, Json value) {
    const size_t at = Column(column);
    std::vector<Json>& cells = rows.back().second;
    if (cells.size() <= at) cells.resize(at + 1);
    cells[at] = std::move(value);
  }
};

// Returns the rows of a CSV with their cells, whose quotes are resolved. Empty lines are no rows.
absl::StatusOr<std::vector<std::vector<std::string>>> CsvRows(absl::string_view text,
                                                              absl::string_view file) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row;
  std::string cell;
  size_t line = 1, quoted_since = 0;  // 0: not within quotes
  const auto end_row = [&] {
    row.push_back(std::move(cell));
    cell.clear();
    if (row.size() > 1 || !row[0].empty()) rows.push_back(std::move(row));
    row.clear();
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (quoted_since > 0) {
      if (c != '"') {
        cell += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        cell += text[++i];
      } else {
        quoted_since = 0;
      }
    } else if (c == '"' && cell.empty()) {
      quoted_since = line;
    } else if (c == ',') {
      row.push_back(std::move(cell));
      cell.clear();
    } else if (c == '\n') {
      absl::StripTrailingAsciiWhitespace(&cell);
      end_row();
    } else {
      cell += c;
    }
  }
  if (quoted_since > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ":", quoted_since, ": the quotes that begin here do not end"));
  }
  end_row();
  return rows;
}

// Returns a cell as a number if it is one that JSON has.
Json CellOf(const std::string& text) {
  double number = 0;
  if (text.empty()) return {};
  if (absl::SimpleAtod(text, &number) && std::isfinite(number)) return number;
  return text;
}

absl::StatusOr<NamedRows> RowsOfCsv(absl::string_view text, absl::string_view file) {
  using Rows = std::vector<std::vector<std::string>>;
  ASSIGN_OR_RETURN(const Rows csv, CsvRows(text, file));
  NamedRows made;
  if (csv.empty()) return made;
  const std::vector<std::string>& head = csv[0];
  const auto it = absl::c_find(head, kNodeColumn);
  const size_t node = it == head.end() ? 0 : static_cast<size_t>(it - head.begin());
  for (size_t r = 1; r < csv.size(); ++r) {
    if (csv[r].size() != head.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          file, ": row ", r, " has another number of cells than the head: ", csv[r].size(),
          ", not ", head.size()));
    }
    made.rows.emplace_back(csv[r][node], std::vector<Json>());
    for (size_t c = 0; c < head.size(); ++c) {
      if (c != node) made.Set(head[c], CellOf(csv[r][c]));
    }
  }
  return made;
}

// A cell holds a number or text.
Json CellOf(const Json& json) {
  if (json.To<double>().has_value() || json.type_name() == "null") return json;
  return json.text() != nullptr ? *json.text() : json.Dump(-1);
}

void AddRow(std::string name, const Json& members, NamedRows* rows) {
  rows->rows.emplace_back(std::move(name), std::vector<Json>());
  if (!members.is_object()) return rows->Set("value", CellOf(members));
  for (const auto& [key, value] : members.members()) {
    if (key != kNodeColumn) rows->Set(key, CellOf(value));
  }
}

// Adds the rows of the first list of objects with nodes. Returns false if there is none.
bool AddListedNodes(const Json& json, NamedRows* rows) {
  for (const Json& element : json.elements()) {
    if (auto name = element.Get<std::string>(kNodeColumn)) {
      AddRow(*std::move(name), element, rows);
    } else if (rows->rows.empty() && AddListedNodes(element, rows)) {
      return true;
    }
  }
  for (const auto& [key, value] : json.members()) {
    if (rows->rows.empty() && AddListedNodes(value, rows)) return true;
  }
  return !rows->rows.empty();
}

absl::StatusOr<NamedRows> RowsOfJson(absl::string_view text, absl::string_view file) {
  NamedRows made;
  // A list alone is a member, as ParseObject says where a text is wrong.
  const bool is_list = absl::StartsWith(text, "[");
  const std::string wrapped = is_list ? absl::StrCat("{\"\":", text, "}") : std::string(text);
  ASSIGN_OR_RETURN(const Json json, Json::ParseObject(wrapped, file));
  if (AddListedNodes(json, &made) || is_list) return made;
  for (const auto& [name, value] : json.members()) AddRow(name, value, &made);
  return made;
}

// Returns "relu" for "%relu = aten.relu.default".
absl::string_view NodeNameIn(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text.substr(0, text.find(" = ")));
  absl::ConsumePrefix(&text, "%");
  return text;
}

}  // namespace

absl::StatusOr<NodeValues> ParseNodeValues(absl::string_view text, absl::string_view file,
                                           const Module& module) {
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");
  text = absl::StripLeadingAsciiWhitespace(text);
  const bool is_json = absl::StartsWith(text, "{") || absl::StartsWith(text, "[");
  ASSIGN_OR_RETURN(NamedRows named, is_json ? RowsOfJson(text, file) : RowsOfCsv(text, file));
  absl::flat_hash_map<absl::string_view, std::vector<const Node*>> nodes;
  for (const Graph* graph : module.graphs()) {
    for (const Node* node : graph->nodes()) nodes[node->name()].push_back(node);
  }
  if (named.columns.size() > kMaxColumns)
    return absl::InvalidArgumentError(absl::StrCat(file, ": more than ", kMaxColumns, " columns"));
  NodeValues made;
  made.columns = std::move(named.columns);
  for (auto& [name, cells] : named.rows) {
    cells.resize(made.columns.size());
    const auto it = nodes.find(NodeNameIn(name));
    if (it == nodes.end()) {
      if (made.unknown++ == 0) made.first_unknown = Printable(name, kMaxUnknownBytes);
      continue;
    }
    for (const Node* node : it->second) made.rows[node] = cells;
  }
  if (!made.rows.empty()) return made;
  if (made.unknown == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": neither CSV nor JSON with values by the name of a node"));
  }
  std::vector<absl::string_view> names;
  for (const auto& [name, found] : nodes) names.push_back(name);
  absl::c_sort(names);
  return absl::InvalidArgumentError(
      absl::StrCat(file, ": none of its rows is of a node; the first is of ", made.first_unknown,
                   NearMissHint(NodeNameIn(made.first_unknown), names)));
}

}  // namespace graphnet
