// Cuts of least traffic: pieces of about equal size between which as few bytes as
// possible are handed on.
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

// The bytes of the node's value, by its meta, with the examples of symbols; nullopt
// if that does not say.
std::optional<int64_t> ValueBytes(const Node& node);

// How much is handed on; least bytes first, among equal ones least values of
// unknown size.
struct Traffic {
  int64_t bytes = 0;  // of the values of known size
  int64_t unknown = 0;

  friend auto operator<=>(const Traffic& a, const Traffic& b) = default;
  friend Traffic operator+(const Traffic& a, const Traffic& b) {
    return {a.bytes + b.bytes, a.unknown + b.unknown};
  }
};

// For each position from 0 to the number of operators, what a cut before it hands
// on: the values that operators before it compute and others use at it or later,
// the output included. Inputs and attributes are there anyway and do not count.
// Without `by_bytes` all sizes count as unknown, so that the same program gives the same whether
// or not it says them. O(nodes).
std::vector<Traffic> CutTraffic(const GraphIndex& index, bool by_bytes = true);

// The k - 1 cuts of least traffic in total, of those that make pieces of `least`
// to `most` operators each and go through no region; nullopt if there are none.
// `traffic` is by position. Among equal ones, each cut as early as possible, the
// last one first. O(k · operators).
std::optional<std::vector<int64_t>> LeastTrafficCuts(absl::Span<const Traffic> traffic,
                                                     const Regions& regions, int k, int64_t least,
                                                     int64_t most);

// The same, with pieces of half to one and a half times the mean size; if regions do
// not allow that, of a wider span, and at last fewer pieces. InvalidArgument if k
// times the number of operators is more than 2^26.
absl::StatusOr<std::vector<int64_t>> BalancedCuts(const GraphIndex& index, const Regions& regions,
                                                  int k);

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_BALANCE_H_
