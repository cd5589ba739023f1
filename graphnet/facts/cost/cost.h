// The work of a whole module, call by call (flops.h): by the metas that it has, with the examples
// of symbols, and where it has none by what calls take.
#ifndef GRAPHNET_FACTS_COST_COST_H_
#define GRAPHNET_FACTS_COST_COST_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graphnet/facts/cost/flops.h"
#include "graphnet/ir/module.h"

namespace graphnet {

struct ModuleCost {
  // Calls of the module that run at least once, in program order, graph by graph, each as often
  // as it runs. A call that has bodies counts nothing itself.
  std::vector<std::pair<const Node*, Cost>> calls;
  Cost total;
  // Calls of loops that run an unknown number of times: their bodies count once.
  int64_t open_loops = 0;
  // Bytes of the tensors that live while a node of the main graph runs (alive_bytes.h), and the
  // most of them, as far as sizes are known.
  absl::flat_hash_map<const Node*, int64_t> alive_bytes;
  int64_t peak_bytes = 0;
};

// A body counts as often as it is run: under vmap and in scans and maps as often as they have
// elements. Of the two bodies of a cond the one that takes more FLOPs counts. Time and memory are
// in proportion to the nodes; of a body whose calls differ in what they hand to it, to so many
// more, up to 64 times the nodes of the module: further calls are unknown.
ModuleCost CostOf(const Module& module);

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_COST_COST_H_
