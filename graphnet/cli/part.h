// Some operators of a graph, as options name them.
#ifndef GRAPHNET_CLI_PART_H_
#define GRAPHNET_CLI_PART_H_

#include <string>

#include "absl/status/statusor.h"
#include "graphnet/decompose/range_decomposer.h"
#include "graphnet/ir/graph.h"

namespace graphnet {

// One of them is not empty.
struct PartFlags {
  std::string range;   // "8:20", the end left out
  std::string values;  // "in1,in2:out1", what lies between values
  std::string module;  // "layer1.0", that module and all below it
  std::string nodes;   // "a,b,d"
};

struct Part {
  Range range;
  bool is_gathered = false;  // others stood between them
};

// Nodes of a module and those that are listed are moved beside each other (GatherNodes).
// InvalidArgument for options that say no part, NotFound for a name that there is not,
// FailedPrecondition for a part that cannot be cut out. The graph must verify.
absl::StatusOr<Part> FindPart(const PartFlags& flags, Graph* graph);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_PART_H_
