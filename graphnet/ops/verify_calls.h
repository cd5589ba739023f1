// Whether the calls of a graph are ones that PyTorch has: what the IR's own
// verifier (ir/verifier.h), which knows no operators, cannot say.
#ifndef GRAPHNET_OPS_VERIFY_CALLS_H_
#define GRAPHNET_OPS_VERIFY_CALLS_H_

#include "absl/status/status.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// OK if every target resolves and takes the arguments that it is called with, and
// no call writes to a literal or a graph. InvalidArgument with the first one that
// does not, in program order, and how many more there are. O(nodes).
absl::Status VerifyCalls(const Module& module);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_VERIFY_CALLS_H_
