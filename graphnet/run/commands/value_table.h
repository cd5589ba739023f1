// The table of the values of a run: their ranges, and how many are zero or not finite.
#ifndef GRAPHNET_RUN_COMMANDS_VALUE_TABLE_H_
#define GRAPHNET_RUN_COMMANDS_VALUE_TABLE_H_

#include <string>
#include <vector>

#include "graphnet/base/report.h"
#include "graphnet/facts/cost/cost_report.h"
#include "graphnet/run/engine.h"

namespace graphnet {

// Returns a table without rows; for several samples, its first column has their paths.
Table ValueTable(CallKey by, bool has_paths);
// Adds a row for each node, or for all nodes of a target or of a module, in the order in which they run.
void AddValues(const std::vector<MeasuredValue>& values, CallKey by, const std::string& path,
               bool has_paths, Table* table);

}  // namespace graphnet

#endif  // GRAPHNET_RUN_COMMANDS_VALUE_TABLE_H_
