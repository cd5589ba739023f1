// Computes the work of a whole module, call by call (flops.h). Sizes come from metas, with the
// example values of symbols; where metas are missing, they are inferred from operands.
#ifndef GRAPHNET_FACTS_COST_COST_H_
#define GRAPHNET_FACTS_COST_COST_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graphnet/facts/cost/flops.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// The costs of a module's calls, and their sum.
struct ModuleCost {
  // Calls that run at least once, graph by graph in program order. The cost of each is multiplied
  // by the number of times that it runs. A call with bodies costs nothing itself.
  std::vector<std::pair<const Node*, Cost>> calls;
  Cost total;
  // Number of loops that run an unknown number of times. Their bodies count once.
  int64_t open_loops = 0;
  // Bytes of the tensors that are alive while each node of the main graph runs (alive_bytes.h), and
  // their maximum, as far as sizes are known.
  absl::flat_hash_map<const Node*, int64_t> alive_bytes;
  int64_t peak_bytes = 0;
};

// Returns the cost of a module. A body counts as often as it runs: in vmap, scan and map once for
// each element. For a cond, the body with more FLOPs counts. Takes time and memory in proportion to
// the nodes. A body is visited again for each call that passes it other facts, up to 64 times the
// nodes of the module in total; further calls count as unknown.
ModuleCost CostOf(const Module& module);

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_COST_COST_H_
