// The cost of a module (facts/cost/cost.h), as `shapes` and `stats` show it.
#ifndef GRAPHNET_CLI_COSTS_H_
#define GRAPHNET_CLI_COSTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graphnet/cli/json.h"
#include "graphnet/facts/cost/cost.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// Calls are summed by one of these.
enum class CallKey : uint8_t { kNone, kNode, kModule, kTarget };
// All keys but kNone, as options and tables call them: node, module and target.
const std::map<std::string, CallKey>& CallKeys();
std::string KeyName(CallKey key);
// The module of a call, "(no module)" if it is in none.
std::string ModuleNameOf(const Node& node);

// The calls of one name. A node of a body is called "body:node", a node in no module "(no module)".
struct CostRow {
  std::string name;
  Cost cost;
  int64_t alive_bytes = 0;  // the most while one of them runs; 0: not known
};
struct CostTable {
  CallKey key = CallKey::kNone;
  std::vector<CostRow> rows;  // most FLOPs first, then most other operations, then most bytes
  Cost total;
  int64_t open_loops = 0;
  int64_t peak_bytes = 0;  // of all nodes
};
// `cost` is that of the module. There are no rows for CallKey::kNone.
CostTable CostsBy(CallKey key, const Module& module, const ModuleCost& cost);

// A row a name, and the total.
void PrintCosts(const CostTable& table);
// Says on stderr, a line each, what the numbers do not count.
void PrintCostNotes(const ModuleCost& cost);
// "3.64 GFLOP, 12.3 M other operations, 97.5 MiB moved".
std::string CostLine(const Cost& cost);
// Sets "flops", "other", "bytes_moved", "num_calls", "num_unknown_calls", "open_loops" and
// "peak_bytes", as whole numbers, and where the table has a key "costs", a list with a name each.
void SetCosts(const CostTable& table, Json* json);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_COSTS_H_
