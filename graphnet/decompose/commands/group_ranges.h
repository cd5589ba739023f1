// Ranges for `decompose --groups`.
#ifndef GRAPHNET_DECOMPOSE_COMMANDS_GROUP_RANGES_H_
#define GRAPHNET_DECOMPOSE_COMMANDS_GROUP_RANGES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "graphnet/decompose/range_decomposer.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// Returns the ranges of operators that make one kernel (paddle/pir/group_runs.h), in order. A range
// whose end would go through a region is left out. The module must verify; metas that it lacks are
// inferred by rules. FailedPrecondition if there is no range.
absl::StatusOr<std::vector<Range>> GroupRanges(const Module& module);

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_COMMANDS_GROUP_RANGES_H_
