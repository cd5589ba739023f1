#include "graphnet/cli/costs.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/messages.h"
#include "graphnet/cli/table.h"

namespace graphnet {
namespace {

constexpr size_t kMaxBytesOfName = 100;
constexpr size_t kMaxNamed = 3;  // targets to name in a note

// Returns "3.64 GFLOP", or "46.0 k" without a unit.
std::string Decimal(int64_t count, absl::string_view unit = "") {
  static constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  auto value = static_cast<double>(count);
  size_t prefix = 0;
  for (; value >= 999.5; value /= 1000) ++prefix;
  const int digits = prefix == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  const std::string unit_of_it = absl::StrCat(kPrefixes[prefix], unit);
  return absl::StrFormat("%.*f%s%s", digits, value, unit_of_it.empty() ? "" : " ", unit_of_it);
}

std::string NameOf(CallKey key, const Module& module, const Node& node) {
  switch (key) {
    case CallKey::kTarget: return std::string(node.target());
    case CallKey::kModule: return ModuleNameOf(node);
    default:
      return node.graph() == module.main() ? std::string(node.name())
                                           : absl::StrCat(node.graph()->name(), ":", node.name());
  }
}

// Calls whose work is unknown are not counted, so that the rest is less than the whole.
bool IsLowerBound(const Cost& cost) { return cost.unknown > 0; }

TableRow TextOf(const CostRow& row) {
  const absl::string_view bound = IsLowerBound(row.cost) ? "≥ " : "";
  return {Printable(row.name, kMaxBytesOfName),
          absl::StrCat(bound, Decimal(row.cost.flops, "FLOP")),
          absl::StrCat(bound, Decimal(row.cost.other)),
          absl::StrCat(bound, BytesText(row.cost.bytes)),
          row.alive_bytes > 0 ? BytesText(row.alive_bytes) : "-",
          absl::StrCat(row.cost.calls)};
}

void SetCost(const Cost& cost, Json* json) {
  const absl::string_view bound = IsLowerBound(cost) ? "_at_least" : "";
  (*json)[absl::StrCat("flops", bound)] = cost.flops;
  (*json)[absl::StrCat("other", bound)] = cost.other;
  (*json)[absl::StrCat("bytes_moved", bound)] = cost.bytes;
  (*json)["num_calls"] = cost.calls;
  (*json)["num_unknown_calls"] = cost.unknown;
}

}  // namespace

const std::map<std::string, CallKey>& CallKeys() {
  static const auto* keys = new std::map<std::string, CallKey>{
      {"node", CallKey::kNode}, {"module", CallKey::kModule}, {"target", CallKey::kTarget}};
  return *keys;
}

std::string KeyName(CallKey key) {
  for (const auto& [name, of] : CallKeys())
    if (of == key) return name;
  return "";
}

std::string ModuleNameOf(const Node& node) {
  return node.module_path().empty() ? "(no module)" : std::string(node.module_path());
}

CostTable CostsBy(CallKey key, const Module& module, const ModuleCost& cost) {
  CostTable table = {.key = key,
                     .rows = {},
                     .total = cost.total,
                     .open_loops = cost.open_loops,
                     .peak_bytes = cost.peak_bytes};
  if (key == CallKey::kNone) return table;
  std::map<std::string, CostRow> rows;
  for (const auto& [node, of] : cost.calls) {
    CostRow& row = rows[NameOf(key, module, *node)];
    row.cost += of;
    if (const auto it = cost.alive_bytes.find(node); it != cost.alive_bytes.end())
      row.alive_bytes = std::max(row.alive_bytes, it->second);
  }
  for (auto& [name, row] : rows) {
    row.name = name;
    table.rows.push_back(std::move(row));
  }
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const CostRow& a, const CostRow& b) {
    return std::tie(a.cost.flops, a.cost.other, a.cost.bytes) >
           std::tie(b.cost.flops, b.cost.other, b.cost.bytes);
  });
  return table;
}

void PrintCosts(const CostTable& table) {
  std::vector<TableRow> rows = {{KeyName(table.key), "FLOPs", "other", "moved", "alive", "calls"}};
  for (const CostRow& row : table.rows) rows.push_back(TextOf(row));
  rows.push_back(TextOf({"total", table.total, table.peak_bytes}));
  PrintTable(rows);
}

void PrintCostNotes(const ModuleCost& cost) {
  if (cost.total.unknown > 0) {
    std::map<std::string, int64_t> targets;
    for (const auto& [node, of] : cost.calls) {
      if (of.unknown > 0) targets[std::string(node->target())] += of.unknown;
    }
    std::string named;
    size_t count = 0;
    for (const auto& [target, calls] : targets) {
      if (count++ == kMaxNamed) break;
      absl::StrAppend(&named, named.empty() ? "" : ", ", Printable(target, kMaxBytesOfName));
    }
    if (count > kMaxNamed) absl::StrAppend(&named, ", …");
    PrintNote(absl::StrCat("the work of ", cost.total.unknown,
                           " calls is unknown and not counted: ", named));
  }
  if (cost.open_loops > 0) {
    PrintNote(absl::StrCat(cost.open_loops,
                           " loops run an unknown number of times: their bodies count once"));
  }
}

std::string CostLine(const Cost& cost) {
  return absl::StrCat(IsLowerBound(cost) ? "at least " : "", Decimal(cost.flops, "FLOP"), ", ",
                      Decimal(cost.other), " other operations, ", BytesText(cost.bytes), " moved");
}

void SetCosts(const CostTable& table, Json* json) {
  SetCost(table.total, json);
  (*json)["open_loops"] = table.open_loops;
  (*json)["peak_bytes"] = table.peak_bytes;
  if (table.key == CallKey::kNone) return;
  std::vector<Json> rows;
  for (const CostRow& of : table.rows) {
    Json row;
    row["name"] = of.name;
    SetCost(of.cost, &row);
    if (of.alive_bytes > 0) row["alive_bytes"] = of.alive_bytes;
    rows.push_back(std::move(row));
  }
  (*json)["costs"] = Json::List(rows);
}

}  // namespace graphnet
