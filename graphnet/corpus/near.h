// Finds near duplicates: graphs whose features (features.h) are almost the same.
//
//   for (const NearPair& pair : *NearPairs({row_1.features, row_2.features, …}, 0.9)) …
//
// The likeness of two graphs is the Jaccard index of their features: how many both have, divided by
// how many at least one has. A prefix filter makes the search exact and fast: if all features are in
// one fixed order and the index is at least t, then the two graphs share a feature among the first
// (1 - t) n + 1 of the n features of each. The order of tokens, which a corpus stores, is that of the
// numbers. NearPairs, which has all graphs at hand, takes the order of their frequency.
#ifndef GRAPHNET_CORPUS_NEAR_H_
#define GRAPHNET_CORPUS_NEAR_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace graphnet {

// The features of a graph, sorted and without repetitions.
using FeatureList = absl::Span<const uint64_t>;

// Returns the features that a graph must share with every graph whose likeness is at least
// `threshold`: the first ones. Tokens for a lower threshold serve a higher one, too. InvalidArgument
// if the threshold is not in (0, 1].
absl::StatusOr<FeatureList> PrefixTokens(FeatureList features, double threshold);

// Returns the likeness. It is 0 if one graph has no features.
double Jaccard(FeatureList a, FeatureList b);

// Two graphs, by their places in a list.
struct NearPair {
  int32_t a = 0;  // less than b
  int32_t b = 0;
  double jaccard = 0;
};

// Returns all pairs whose likeness is at least `threshold`, in ascending order. Their number grows
// with the square of a group of equal graphs; ResourceExhausted if there are more than `max_pairs`.
// InvalidArgument if the threshold is not in (0, 1].
absl::StatusOr<std::vector<NearPair>> NearPairs(absl::Span<const FeatureList> graphs,
                                                double threshold,
                                                size_t max_pairs = size_t{1} << 26);

}  // namespace graphnet

#endif  // GRAPHNET_CORPUS_NEAR_H_
