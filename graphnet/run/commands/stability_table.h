// The table of how many digits of each value of a run survive rounding.
#ifndef GRAPHNET_RUN_COMMANDS_STABILITY_TABLE_H_
#define GRAPHNET_RUN_COMMANDS_STABILITY_TABLE_H_

#include "graphnet/base/report.h"
#include "graphnet/facts/cost/cost_report.h"
#include "graphnet/interp/stability.h"

namespace graphnet {

// Returns a table in the order of the run, with a row for each node, or for all nodes of a target or of a
// module. A group keeps the fewest digits of its values; those that it loses itself are the most that one
// of them loses.
Table StabilityTable(const Stability& stability, CallKey by);

// Adds the table as "stability", and says which value loses most digits itself. Notes values that are
// missing.
void AddStability(const Stability& stability, CallKey by, Report* report);

}  // namespace graphnet

#endif  // GRAPHNET_RUN_COMMANDS_STABILITY_TABLE_H_
