// Chooses which of many graphs stay if each is to be there once.
//
//   const std::vector<size_t> stays = FirstOfEqual(hashes);    // equal texts
//   ASSIGN_OR_RETURN(stays, FirstOfAlike(features, 0.9));      // near duplicates
//
// The graph i stays if stays[i] == i; otherwise stays[i] stays for it, which comes before i.
#ifndef GRAPHNET_CORPUS_DUPLICATES_H_
#define GRAPHNET_CORPUS_DUPLICATES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graphnet/corpus/near.h"

namespace graphnet {

// The first of equal texts stays.
std::vector<size_t> FirstOfEqual(absl::Span<const std::string> keys);

// A graph stays unless its likeness (near.h) to one before it that stays is at least `threshold`. So
// no two that stay are so much alike, and each that goes is so much like the one that stays for it,
// the first such. Graphs without features are alike. Errors are those of NearPairs, for the graphs
// whose features differ.
absl::StatusOr<std::vector<size_t>> FirstOfAlike(absl::Span<const FeatureList> graphs,
                                                 double threshold);

}  // namespace graphnet

#endif  // GRAPHNET_CORPUS_DUPLICATES_H_
