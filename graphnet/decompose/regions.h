// Regions: the stretches of a graph that a cut must not go through.
//
// - A stretch between two calls that open and close a state which no value carries. They are
//   recognised by the last component of a call_function's target:
//
//     _vmap_increment_nesting … _vmap_decrement_nesting
//     _enter_autocast … _exit_autocast
//
//   A region that is never closed lasts to the end of the graph; a closing operator that closes
//   nothing is ignored.
// - The stretch from an operator that yields a tuple (YieldsTuple in facts/memory/memory_use.h) to
//   the last operator that takes it, since a port of a piece is one value.
//
// Calls of _set_grad_enabled make no region. They change whether gradients are recorded, not what
// is computed, and many graphs hold all their operators between two of them.
#ifndef GRAPHNET_DECOMPOSE_REGIONS_H_
#define GRAPHNET_DECOMPOSE_REGIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graphnet/decompose/graph_index.h"
#include "graphnet/ir/graph.h"

namespace graphnet {

// Returns the number of operators (IsOperator) of a graph.
int64_t NumOperators(const Graph& graph);

// The regions of one graph.
class Regions {
 public:
  // O(nodes and uses). The graph must outlive this object.
  explicit Regions(const Graph& graph) : Regions(GraphIndex(graph)) {}
  explicit Regions(const GraphIndex& index);

  // Returns the operator that opens the outermost region that a cut before operator `position`
  // would go through; nullptr if there is none. O(log regions).
  const Node* OpenAt(int64_t position) const;
  // Says why no cut may be at `position`, where a region must be open: "goes through the region
  // that …" or "parts the tuple %t …".
  std::string WhyNot(int64_t position) const;
  // Returns the first position from `position` on where no region is open; the end of the graph at
  // the latest.
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

  // No region lies within another, so they are in order of both ends.
  std::vector<Region> regions_;
};

// Moves each of `cuts`, which come in any order, to the first allowed position from it on. The
// result rises strictly and has neither 0 nor the end.
std::vector<int64_t> AllowedCuts(std::vector<int64_t> cuts, const Regions& regions,
                                 int64_t num_operators);

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_REGIONS_H_
