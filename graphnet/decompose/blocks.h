// Repeated blocks: stretches of operators that follow each other again and again,
// as the layers of a transformer or of a stage do.
#ifndef GRAPHNET_DECOMPOSE_BLOCKS_H_
#define GRAPHNET_DECOMPOSE_BLOCKS_H_

#include <cstdint>
#include <vector>

#include "graphnet/decompose/graph_index.h"
#include "graphnet/decompose/range_decomposer.h"
#include "graphnet/decompose/regions.h"

namespace graphnet {

struct Block {
  int64_t num_operators = 0;
  // Where it occurs, in order, without overlap.
  std::vector<int64_t> starts;
};

// Operators are alike if op, target, constants and the form of the arguments are;
// which values they take does not count. A block has at least kMinBlockOperators and
// occurs at least twice in a row; of several ways to see a stretch as such, the one
// that covers most operators counts, of those the shortest block. Where in the
// period a block begins is chosen so that least is handed on (balance.h) and no cut
// goes through a region. Further occurrences, alone, are found too. In the order of
// their first occurrence.
//
// O(operators) for each block and each of the 32 periods that are tried; at most
// kMaxBlocks are found.
std::vector<Block> FindBlocks(const GraphIndex& index, const Regions& regions);

inline constexpr int64_t kMinBlockOperators = 4;
inline constexpr int kMaxBlocks = 256;

// The cuts at the borders of all occurrences.
std::vector<int64_t> BlockCuts(const std::vector<Block>& blocks, const Regions& regions,
                               int64_t num_operators);

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_BLOCKS_H_
