// What `graphnet shard` says of a plan, and of outputs that were checked.
#ifndef GRAPHNET_SHARD_REPORT_H_
#define GRAPHNET_SHARD_REPORT_H_

#include "graphnet/base/report.h"
#include "graphnet/shard/rank_output.h"
#include "graphnet/shard/shard_plan.h"

namespace graphnet {

// Returns the meshes, how much of inputs and outputs is divided, and the communication.
Report ReportOf(const spmd::ShardPlan& plan);
// Returns whether an output of the ranks is right.
Report ReportOf(const RankOutput& output);

}  // namespace graphnet

#endif  // GRAPHNET_SHARD_REPORT_H_
