// Checks metas against the rules of operators, which the IR's own verifier (ir/verifier.h) does not
// know.
#ifndef GRAPHNET_FACTS_SHAPES_VERIFY_METAS_H_
#define GRAPHNET_FACTS_SHAPES_VERIFY_METAS_H_

#include "absl/status/status.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// Checks the meta of each call of an operator of ATen: its dtype, rank and sizes must be those that
// follow from the metas of the operands, as far as tensor_facts.h knows them. InvalidArgument names
// the first call that differs. Graphs in which operators behave differently (levels of vmap,
// autocast, calls that change sizes in place) are not checked. O(nodes).
absl::Status VerifyMetas(const Module& module);

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_SHAPES_VERIFY_METAS_H_
