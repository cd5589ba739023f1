// The cost of a module (ops/cost.h), as `shapes` and `stats` show it.
#ifndef GRAPHNET_CLI_COSTS_H_
#define GRAPHNET_CLI_COSTS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graphnet/cli/json.h"
#include "graphnet/ir/module.h"
#include "graphnet/ops/cost.h"

namespace graphnet {

// Calls are summed by one of these.
enum class CallKey : uint8_t { kNone, kNode, kModule, kTarget };
// "node", "module" or "target", as options and tables call it.
const char* KeyName(CallKey key);
// The module of a call, "(no module)" if it is in none.
std::string ModuleNameOf(const Node& node);

// Bytes of the tensors that live while a node runs; nodes of bodies are not there.
using AliveBytes = absl::flat_hash_map<const Node*, int64_t>;

// The costs of the calls of one name, most FLOPs first, then most other operations, then most
// bytes. A node of a body is called "body:node", a node in no module "(no module)".
std::vector<std::pair<std::string, Cost>> CostsBy(CallKey key, const Module& module,
                                                  const ModuleCost& cost);

// A row a name, and the total. `peak`, of all nodes, is in the total; 0 if it is not known.
void PrintCosts(CallKey key, const Module& module, const ModuleCost& cost, const AliveBytes& alive,
                int64_t peak);
// Says on stderr, a line each, what the numbers do not count.
void PrintCostNotes(const ModuleCost& cost);
// "3.64 GFLOP, 12.3 M other operations, 97.5 MiB moved".
std::string CostLine(const Cost& cost);
// "flops", "other", "bytes_moved", "calls" and "unknown_calls", as whole numbers.
void SetCost(const Cost& cost, Json* json);
// The same of a module, with "open_loops" and, by a key, "costs": a list with a name each, and
// "alive_bytes", the most while one of the nodes runs.
void SetCosts(CallKey key, const Module& module, const ModuleCost& cost, const AliveBytes& alive,
              Json* json);
// "97.5 MiB".
std::string Size(int64_t bytes);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_COSTS_H_
