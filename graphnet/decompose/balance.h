// Cuts of least traffic: pieces of about equal size that hand on as few bytes as possible.
#ifndef GRAPHNET_DECOMPOSE_BALANCE_H_
#define GRAPHNET_DECOMPOSE_BALANCE_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graphnet/decompose/graph_index.h"
#include "graphnet/decompose/regions.h"

namespace graphnet {

// Returns the bytes of the node's value, by its meta and the examples of symbols; nullopt if the
// meta does not say.
std::optional<int64_t> ValueBytes(const Node& node);

// The traffic across a cut. Fewer bytes compare as less; if they are equal, fewer values of
// unknown size do.
struct Traffic {
  int64_t bytes = 0;    // in all values of known size
  int64_t unknown = 0;  // number of values of unknown size

  friend auto operator<=>(const Traffic& a, const Traffic& b) = default;
  friend Traffic operator+(const Traffic& a, const Traffic& b) {
    return {a.bytes + b.bytes, a.unknown + b.unknown};
  }
};

// Returns, for each position from 0 to the number of operators, the traffic across a cut before
// it: the values that operators before it compute and that operators at it or later, or the
// output, use. Inputs and attributes do not count, since every piece has access to them.
// Without `by_bytes` all sizes count as unknown, so that the result does not depend on whether the
// program states them. O(nodes).
std::vector<Traffic> CutTraffic(const GraphIndex& index, bool by_bytes = true);

// Returns the k - 1 cuts with the least total traffic that make pieces of `least` to `most`
// operators each and go through no region; nullopt if there are none. `traffic` is indexed by
// position. Ties are broken by making each cut as early as possible, beginning with the last.
// O(k · operators).
std::optional<std::vector<int64_t>> LeastTrafficCuts(absl::Span<const Traffic> traffic,
                                                     const Regions& regions, int k, int64_t least,
                                                     int64_t most);

// Calls LeastTrafficCuts for pieces of half to one and a half times the mean size. If regions do
// not allow that, it widens the span and finally makes fewer pieces. InvalidArgument if k times
// the number of operators is more than 2^26.
absl::StatusOr<std::vector<int64_t>> BalancedCuts(const GraphIndex& index, const Regions& regions,
                                                  int k);

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_BALANCE_H_
