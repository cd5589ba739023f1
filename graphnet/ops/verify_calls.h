// Checks calls against the operators that PyTorch has, which the IR's own verifier (ir/verifier.h)
// does not know.
#ifndef GRAPHNET_OPS_VERIFY_CALLS_H_
#define GRAPHNET_OPS_VERIFY_CALLS_H_

#include "absl/status/status.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// Checks that every target is known and accepts its arguments, and that no call writes to a literal
// or a graph. InvalidArgument names the first call that is wrong, in program order, and the number
// of other wrong ones. O(nodes).
absl::Status VerifyCalls(const Module& module);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_VERIFY_CALLS_H_
