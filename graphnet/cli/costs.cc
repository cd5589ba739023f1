#include "graphnet/cli/costs.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/table.h"

namespace graphnet {
namespace {

constexpr size_t kMaxNameBytes = 100;
constexpr size_t kMaxNamed = 3;  // targets in a note

// "3.64 GFLOP"; "46.0 k" of no unit.
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

// `alive`: 0 if it is not known.
TableRow RowOf(const std::string& name, const Cost& cost, int64_t alive) {
  return {Printable(name, kMaxNameBytes),
          Decimal(cost.flops, "FLOP"),
          Decimal(cost.other),
          Size(cost.bytes),
          alive > 0 ? Size(alive) : "-",
          absl::StrCat(cost.calls)};
}

// The most of the calls of each name.
std::map<std::string, int64_t> AliveBy(CallKey key, const Module& module, const ModuleCost& cost,
                                       const AliveBytes& alive) {
  std::map<std::string, int64_t> most;
  for (const auto& [node, of] : cost.calls) {
    const auto it = alive.find(node);
    if (it == alive.end()) continue;
    int64_t& bytes = most[NameOf(key, module, *node)];
    bytes = std::max(bytes, it->second);
  }
  return most;
}

}  // namespace

const char* KeyName(CallKey key) {
  return key == CallKey::kNode ? "node" : key == CallKey::kModule ? "module" : "target";
}

std::string ModuleNameOf(const Node& node) {
  return node.module_path().empty() ? "(no module)" : std::string(node.module_path());
}

std::string Size(int64_t bytes) {
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return absl::StrCat(bytes, " bytes");
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024; value /= 1024) ++unit;
  return absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

std::vector<std::pair<std::string, Cost>> CostsBy(CallKey key, const Module& module,
                                                  const ModuleCost& cost) {
  std::map<std::string, Cost> sums;
  for (const auto& [node, of] : cost.calls) sums[NameOf(key, module, *node)] += of;
  std::vector<std::pair<std::string, Cost>> rows(sums.begin(), sums.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return std::tie(a.second.flops, a.second.other, a.second.bytes) >
           std::tie(b.second.flops, b.second.other, b.second.bytes);
  });
  return rows;
}

void PrintCosts(CallKey key, const Module& module, const ModuleCost& cost, const AliveBytes& alive,
                int64_t peak) {
  std::vector<TableRow> rows = {{KeyName(key), "FLOPs", "other", "moved", "alive", "calls"}};
  std::map<std::string, int64_t> most = AliveBy(key, module, cost, alive);
  for (const auto& [of, sum] : CostsBy(key, module, cost)) rows.push_back(RowOf(of, sum, most[of]));
  rows.push_back(RowOf("total", cost.total, peak));
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
      absl::StrAppend(&named, named.empty() ? "" : ", ", Printable(target, kMaxNameBytes));
    }
    if (count > kMaxNamed) absl::StrAppend(&named, ", …");
    std::fprintf(stderr, "note: what %lld calls do is not known and not counted: %s\n",
                 static_cast<long long>(cost.total.unknown), named.c_str());
  }
  if (cost.open_loops > 0) {
    std::fprintf(stderr,
                 "note: %lld loops run an unknown number of times: their bodies count once\n",
                 static_cast<long long>(cost.open_loops));
  }
}

std::string CostLine(const Cost& cost) {
  return absl::StrCat(Decimal(cost.flops, "FLOP"), ", ", Decimal(cost.other), " other operations, ",
                      Size(cost.bytes), " moved");
}

void SetCost(const Cost& cost, Json* json) {
  (*json)["flops"] = cost.flops;
  (*json)["other"] = cost.other;
  (*json)["bytes_moved"] = cost.bytes;
  (*json)["num_calls"] = cost.calls;
  (*json)["num_unknown_calls"] = cost.unknown;
}

void SetCosts(CallKey key, const Module& module, const ModuleCost& cost, const AliveBytes& alive,
              Json* json) {
  SetCost(cost.total, json);
  (*json)["open_loops"] = cost.open_loops;
  if (key == CallKey::kNone) return;
  std::vector<Json> rows;
  const std::map<std::string, int64_t> most = AliveBy(key, module, cost, alive);
  for (const auto& [name, sum] : CostsBy(key, module, cost)) {
    Json row;
    row["name"] = name;
    SetCost(sum, &row);
    if (const auto it = most.find(name); it != most.end()) row["alive_bytes"] = it->second;
    rows.push_back(std::move(row));
  }
  (*json)["costs"] = Json::List(rows);
}

}  // namespace graphnet
