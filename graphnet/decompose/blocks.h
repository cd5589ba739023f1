// Repeated blocks: stretches of operators that occur several times in a row, as the layers of a
// transformer do.
#ifndef GRAPHNET_DECOMPOSE_BLOCKS_H_
#define GRAPHNET_DECOMPOSE_BLOCKS_H_

#include <cstdint>
#include <vector>

#include "graphnet/decompose/graph_index.h"
#include "graphnet/decompose/range_decomposer.h"
#include "graphnet/decompose/regions.h"

namespace graphnet {

// A repeated stretch of operators.
struct Block {
  int64_t num_operators = 0;
  // First operators of its occurrences, in order. Occurrences do not overlap.
  std::vector<int64_t> starts;
};

// Returns the repeated blocks of a graph in the order of their first occurrence.
//
// Operators are alike if op, target, constants and the form of the arguments are equal; the values
// that they take do not count. A block has at least kMinBlockOperators and occurs at least twice in
// a row. If a stretch can be divided in several ways, the way that covers most operators is chosen,
// and among those the shortest block. The start within the period is chosen for the least traffic
// (balance.h) and so that no cut goes through a region. Further, isolated occurrences are found
// too.
//
// O(operators) for each block and each of the 32 periods that are tried. At most kMaxBlocks are
// found.
std::vector<Block> FindBlocks(const GraphIndex& index, const Regions& regions);

inline constexpr int64_t kMinBlockOperators = 4;
inline constexpr int kMaxBlocks = 256;

// Returns the cuts at the borders of all occurrences.
std::vector<int64_t> BlockCuts(const std::vector<Block>& blocks, const Regions& regions,
                               int64_t num_operators);

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_BLOCKS_H_
