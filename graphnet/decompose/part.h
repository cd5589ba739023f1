// The part of a graph that options name, such as those of `graphnet subgraph`.
#ifndef GRAPHNET_DECOMPOSE_PART_H_
#define GRAPHNET_DECOMPOSE_PART_H_

#include <string>

#include "absl/status/statusor.h"
#include "graphnet/decompose/range_decomposer.h"
#include "graphnet/ir/graph.h"

namespace graphnet {

// Exactly one of these is set.
struct PartFlags {
  std::string range;   // "8:20", without the end
  std::string values;  // "in1,in2:out1", the operators between these values
  std::string module;  // "layer1.0", this module and all below it
  std::string nodes;   // "a,b,d"
};

struct Part {
  Range range;
  bool is_gathered = false;  // other operators were between them
};

// Finds the range of a part. Nodes of a module and listed nodes are moved next to each other
// (GatherNodes). InvalidArgument for options that cannot be read, NotFound for an unknown name,
// FailedPrecondition for a part that cannot be cut out. The graph must be valid (ir/verifier.h).
absl::StatusOr<Part> FindPart(const PartFlags& flags, Graph* graph);

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_PART_H_
