// Regions: the stretches of a graph that a cut must not go through.
//
// - What opens and closes something that is neither a value nor seen by def and
//   use, recognised by the last component of a call_function's target:
//
//     _vmap_increment_nesting … _vmap_decrement_nesting
//     _enter_autocast … _exit_autocast
//
//   One that is never closed lasts to the end of the graph; a closing operator
//   that closes nothing is ignored.
// - From an operator that yields a tuple (YieldsTuple in facts/memory/memory_use.h) to the last
//   one that takes it: a port of a piece is one value.
//
// Not a region: _set_grad_enabled. It changes whether gradients are recorded,
// not what is computed, and many graphs hold all their operators between two of
// it.
#ifndef GRAPHNET_DECOMPOSE_REGIONS_H_
#define GRAPHNET_DECOMPOSE_REGIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graphnet/decompose/graph_index.h"
#include "graphnet/ir/graph.h"

namespace graphnet {

// How many operators it has (IsOperator).
int64_t NumOperators(const Graph& graph);

class Regions {
 public:
  // O(nodes and uses). The graph must outlive this object.
  explicit Regions(const Graph& graph) : Regions(GraphIndex(graph)) {}
  explicit Regions(const GraphIndex& index);

  // The operator that opens the outermost region that a cut before operator
  // `position` would go through; null if there is none. O(log regions).
  const Node* OpenAt(int64_t position) const;
  // "goes through the region that …" or "parts the tuple %t …", for a position
  // where one is open.
  std::string WhyNot(int64_t position) const;
  // The first position from `position` on where no region is open. At the latest
  // the end of the graph.
  int64_t NextCut(int64_t position) const;

 private:
  // A cut at first < p <= last goes through a region.
  struct Region {
    int64_t first = 0;
    int64_t last = 0;
    const Node* opener = nullptr;
    bool is_tuple = false;
  };
  void AddBrackets(const GraphIndex& index);
  void AddTuples(const GraphIndex& index);
  const Region* Find(int64_t position) const;

  // None within another; in order of both ends.
  std::vector<Region> regions_;
};

// `cuts`, in any order, moved to where they may be; strictly rising, neither 0 nor the end.
std::vector<int64_t> AllowedCuts(std::vector<int64_t> cuts, const Regions& regions,
                                 int64_t num_operators);

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_REGIONS_H_
