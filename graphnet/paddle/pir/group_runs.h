// The groups of operations that make one kernel (groups.h), as calls of the graph that was lowered.
#ifndef GRAPHNET_PADDLE_PIR_GROUP_RUNS_H_
#define GRAPHNET_PADDLE_PIR_GROUP_RUNS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"

namespace graphnet::pir {

// Returns runs of adjacent calls of the main graph that make one kernel, in program order. Each run
// has at least two calls. A call is in a group if all operations that it becomes are in that group,
// apart from constants. A call that becomes no operation, such as the .size() of a tensor whose
// sizes are known, may lie within a run. A group whose calls are not adjacent becomes several runs.
//
// The module must verify, and writes count as values, as in `graphnet show --to loops`. It needs
// the metas of its values, or those that facts/shapes/tensor_facts.h infers: a call without sizes
// is in no group. InvalidArgument as for ToPir.
absl::StatusOr<std::vector<std::vector<const Node*>>> GroupRuns(const Module& module);

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_GROUP_RUNS_H_
