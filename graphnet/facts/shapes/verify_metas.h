// Whether what metas say of the values of calls can be: what the IR's own verifier
// (ir/verifier.h), which knows no operators, cannot say.
#ifndef GRAPHNET_FACTS_SHAPES_VERIFY_METAS_H_
#define GRAPHNET_FACTS_SHAPES_VERIFY_METAS_H_

#include "absl/status/status.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// OK if no call of an operator of ATen has a meta whose dtype, rank or sizes are others than those
// that the operator yields for operands with their metas, as far as that is known without running
// (tensor_facts.h). InvalidArgument names the first call that does. Where the graph says that
// operators do something else (levels of vmap, autocast, sizes that calls change in place)
// nothing is compared. O(nodes).
absl::Status VerifyMetas(const Module& module);

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_SHAPES_VERIFY_METAS_H_
