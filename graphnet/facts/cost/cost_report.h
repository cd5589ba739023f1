// Reports on the cost of a module (cost.h).
#ifndef GRAPHNET_FACTS_COST_COST_REPORT_H_
#define GRAPHNET_FACTS_COST_COST_REPORT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graphnet/base/report.h"
#include "graphnet/facts/cost/cost.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// The key by which calls are grouped.
enum class CallKey : uint8_t { kNone, kNode, kModule, kTarget };
// Returns all keys but kNone by the names that options and tables use: node, module and target.
const std::map<std::string, CallKey>& CallKeys();
std::string KeyName(CallKey key);
// Returns the module path of a call; "(no module)" if it has none.
std::string ModuleNameOf(const Node& node);
// Returns the module of a call by kModule, and else its target.
std::string GroupOf(CallKey key, const Node& node);

// The sum of all calls with the same name. The name of a node in a body is "body:node".
struct CostRow {
  std::string name;
  Cost cost;
  int64_t alive_bytes = 0;  // maximum while one of them runs; 0: unknown
};
struct CostTable {
  CallKey key = CallKey::kNone;
  std::vector<CostRow> rows;  // sorted by FLOPs, then other operations, then bytes, largest first
  Cost total;
  int64_t open_loops = 0;
  int64_t peak_bytes = 0;  // maximum over all nodes
};
// Groups the calls of a module by `key`. `cost` must be the cost of `module`. CallKey::kNone makes
// no rows.
CostTable CostsBy(CallKey key, const Module& module, const ModuleCost& cost);

// Returns a table with one row per name, and the total, which JSON has as "costs". JSON also has
// "flops", "other", "bytes_moved", "num_calls", "num_unknown_calls", "open_loops" and "peak_bytes".
// Without a key there is no table.
Report CostReport(const CostTable& table);
// Returns a line for each thing that the numbers leave out.
std::string CostNotes(const ModuleCost& cost);
// Returns "3.64 GFLOP, 12.3 M other operations, 97.5 MiB moved".
std::string CostLine(const Cost& cost);

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_COST_COST_REPORT_H_
