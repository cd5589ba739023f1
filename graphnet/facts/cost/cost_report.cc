#include "graphnet/facts/cost/cost_report.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/status.h"

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
  if (key != CallKey::kNode) return GroupOf(key, node);
  return node.graph() == module.main() ? std::string(node.name())
                                       : absl::StrCat(node.graph()->name(), ":", node.name());
}

// Calls whose work is unknown are not counted, so that the rest is less than the whole.
bool IsLowerBound(const Cost& cost) { return cost.unknown > 0; }

// The columns of a cost, and those of alive bytes. A lower bound has another key.
const std::vector<Column>& CostColumns() {
  static const auto* const columns = new std::vector<Column>{
      {"flops", "FLOPs"},       {"flops_at_least"},       {"other", "other"},
      {"other_at_least"},       {"bytes_moved", "moved"}, {"bytes_moved_at_least"},
      {"alive_bytes", "alive"}, {"num_calls", "calls"},   {"num_unknown_calls"}};
  return *columns;
}

std::vector<Cell> CellsOf(const Cost& cost, int64_t alive_bytes) {
  std::vector<Cell> cells;
  for (const auto& [value, text] :
       {std::pair{cost.flops, Decimal(cost.flops, "FLOP")},
        std::pair{cost.other, Decimal(cost.other)}, std::pair{cost.bytes, BytesText(cost.bytes)}}) {
    if (IsLowerBound(cost)) {
      cells.insert(cells.end(), {Cell().As(absl::StrCat("≥ ", text)), value});
    } else {
      cells.insert(cells.end(), {Cell(value).As(text), Cell()});
    }
  }
  cells.push_back(alive_bytes > 0 ? Cell::Bytes(alive_bytes) : Cell());
  cells.insert(cells.end(), {cost.calls, cost.unknown});
  return cells;
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

std::string GroupOf(CallKey key, const Node& node) {
  return key == CallKey::kModule ? ModuleNameOf(node) : std::string(node.target());
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

Report CostReport(const CostTable& table) {
  Report report;
  const std::vector<Cell> total = CellsOf(table.total, /*alive_bytes=*/0);
  for (size_t c = 0; c < total.size(); ++c) report.Add(CostColumns()[c].key, total[c]);
  report.Add("open_loops", table.open_loops);
  report.Add("peak_bytes", Cell::Bytes(table.peak_bytes));
  if (table.key == CallKey::kNone) return report;
  Table costs = {{"name", KeyName(table.key)}};
  for (const Column& column : CostColumns()) costs.AddColumn(column);
  const auto row = [](const std::string& name, std::vector<Cell> cells) {
    cells.insert(cells.begin(), Cell(name).As(Printable(name, kMaxBytesOfName)));
    return cells;
  };
  for (const CostRow& of : table.rows) costs.Add(row(of.name, CellsOf(of.cost, of.alive_bytes)));
  costs.AddTotal(row("total", CellsOf(table.total, table.peak_bytes)));
  report.Add("costs", std::move(costs));
  return report;
}

std::string CostNotes(const ModuleCost& cost) {
  std::string notes;
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
    absl::StrAppend(&notes, "note: the work of ", cost.total.unknown,
                    " calls is unknown and not counted: ", named, "\n");
  }
  if (cost.open_loops > 0) {
    absl::StrAppend(&notes, "note: ", cost.open_loops,
                    " loops run an unknown number of times: their bodies count once\n");
  }
  return notes;
}

std::string CostLine(const Cost& cost) {
  return absl::StrCat(IsLowerBound(cost) ? "at least " : "", Decimal(cost.flops, "FLOP"), ", ",
                      Decimal(cost.other), " other operations, ", BytesText(cost.bytes), " moved");
}

}  // namespace graphnet
