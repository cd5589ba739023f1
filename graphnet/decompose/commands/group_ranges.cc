#include "graphnet/decompose/commands/group_ranges.h"

#include "absl/status/status.h"
#include "graphnet/base/status.h"
#include "graphnet/decompose/graph_index.h"
#include "graphnet/decompose/regions.h"
#include "graphnet/paddle/pir/group_runs.h"

namespace graphnet {

absl::StatusOr<std::vector<Range>> GroupRanges(const Module& module) {
  ASSIGN_OR_RETURN(const auto runs, pir::GroupRuns(module));
  const GraphIndex index(*module.main());
  const Regions regions(index);
  std::vector<Range> ranges;
  for (const std::vector<const Node*>& run : runs) {
    const Range range = {index.operator_of(index.IndexOf(run.front())),
                         index.operator_of(index.IndexOf(run.back())) + 1};
    if (regions.OpenAt(range.start) == nullptr && regions.OpenAt(range.end) == nullptr)
      ranges.push_back(range);
  }
  if (ranges.empty())
    return absl::FailedPreconditionError("no two adjacent operators make one kernel");
  return ranges;
}

}  // namespace graphnet
