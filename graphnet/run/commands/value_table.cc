#include "graphnet/run/commands/value_table.h"

#include <cstddef>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/json.h"

namespace graphnet {
namespace {

Cell Number(double value) { return Cell(value).As(absl::StrFormat("%.4g", value)); }

// Adds what is known of the elements.
void AddCells(const ValueStatistics& all, std::vector<Cell>* row) {
  if (all.finite > 0) {
    for (const double value : {all.min, all.max, all.mean, all.deviation()})
      row->push_back(Number(value));
  } else {
    row->resize(row->size() + 4);
  }
  for (const int64_t count : {all.zeros, all.nans, all.infinities, all.elements})
    row->push_back(count);
}

}  // namespace

Table ValueTable(CallKey by, bool has_paths) {
  Table table = has_paths ? Table{{"path", "sample"}} : Table{};
  table.AddColumn({KeyName(by), KeyName(by)});
  if (by == CallKey::kNode) {
    for (const char* key : {"target", "module", "dtype", "shape"})
      table.AddColumn({key, std::string(key) == "module" ? "" : key});
  } else {
    table.AddColumn({"num_values", "values"});
  }
  for (const char* key : {"min", "max", "mean", "std"}) table.AddColumn({key, key});
  for (const char* key : {"zeros", "nan", "inf", "elements"})
    table.AddColumn({absl::StrCat("num_", key), key});
  return table;
}

void AddValues(const std::vector<MeasuredValue>& values, CallKey by, const std::string& path,
               bool has_paths, Table* table) {
  const auto start_row = [&] {
    std::vector<Cell> row;
    if (has_paths) row.emplace_back(path);
    return row;
  };
  if (by == CallKey::kNode) {
    for (const auto& [node, all] : values) {
      std::vector<Cell> row = start_row();
      row.emplace_back(node->name());
      row.emplace_back(node->target());
      row.emplace_back(ModuleNameOf(*node));
      row.emplace_back(DTypeShortName(all.dtype));
      row.push_back(
          Cell(Json::List(all.shape)).As(absl::StrCat("[", absl::StrJoin(all.shape, ", "), "]")));
      AddCells(all, &row);
      table->Add(std::move(row));
    }
    return;
  }
  std::vector<std::pair<std::string, std::pair<size_t, ValueStatistics>>> groups;
  std::map<std::string, size_t> places;
  for (const auto& [node, all] : values) {
    const std::string name = GroupOf(by, *node);
    const auto [it, is_new] = places.emplace(name, groups.size());
    if (is_new) groups.push_back({name, {}});
    auto& [count, sum] = groups[it->second].second;
    ++count;
    sum.Add(all);
  }
  for (const auto& [name, group] : groups) {
    std::vector<Cell> row = start_row();
    row.emplace_back(name);
    row.emplace_back(group.first);
    AddCells(group.second, &row);
    table->Add(std::move(row));
  }
}

}  // namespace graphnet
