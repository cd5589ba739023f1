// Features of the structure of a graph, by which similar graphs are found (near.h).
#ifndef GRAPHNET_CORPUS_FEATURES_H_
#define GRAPHNET_CORPUS_FEATURES_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// The largest depth of a feature.
inline constexpr int kFeatureDepth = 3;
// A label that occurs more often gives no further features.
inline constexpr int kMaxOccurrences = 8;

// Returns the Weisfeiler–Lehman features of all graphs of a module, sorted and without repetitions.
// The label of depth 0 of a node is its kind and what it calls; that of depth d + 1 is this with the
// labels of depth d of its operands, in order. So a label of depth 3 stands for a call and the three
// levels of calls whose values it takes. A node has no label of a depth at which it takes no more
// than at the depth before. A feature is a label and the number of an occurrence, from 1 to
// kMaxOccurrences. Constants, names, dtypes and sizes do not count.
//
// The prefix filter (near.h) is fast if rare features come first in the order of integers. So the
// highest bits of a feature are, from the top, 3 - depth, 63 less the number of calls in its label (63
// for more), and 8 less the occurrence: deep, large and repeated labels are the rare ones.
//
// `label` returns what a call of a function or method does, as a number that is the same on all
// machines. O(nodes + operands).
std::vector<uint64_t> FeaturesOf(const Module& module,
                                 absl::FunctionRef<uint64_t(const Node& call)> label);

}  // namespace graphnet

#endif  // GRAPHNET_CORPUS_FEATURES_H_
