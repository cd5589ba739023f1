// Pairs the nodes of two programs that compute the same, to compare their values in a run.
//
//   ASSIGN_OR_RETURN(const NodePairs pairs, PairNodes(*a.module, *b.module));
//
// Names do not count: two exporters call other values %add. Both programs are brought into normal
// form and their nodes matched by structure (diff.h).
#ifndef GRAPHNET_IDENTITY_PAIR_NODES_H_
#define GRAPHNET_IDENTITY_PAIR_NODES_H_

#include <utility>
#include <vector>

#include "graphnet/ir/module.h"

namespace graphnet {

// A node of the main graph of the first program and one of the second.
using NodePairs = std::vector<std::pair<const Node*, const Node*>>;

// Returns the pairs whose nodes both exist in the given modules, in the order of the second one. A
// program that has no normal form is matched as it is.
NodePairs PairNodes(const Module& a, const Module& b);

}  // namespace graphnet

#endif  // GRAPHNET_IDENTITY_PAIR_NODES_H_
