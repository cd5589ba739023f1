// What `graphnet stats` says of the counts of a module.
#ifndef GRAPHNET_IR_STATISTICS_REPORT_H_
#define GRAPHNET_IR_STATISTICS_REPORT_H_

#include <cstddef>

#include "graphnet/base/report.h"
#include "graphnet/ir/statistics.h"

namespace graphnet {

// Returns the counts. The text has the `shown` most frequent targets.
Report ReportOf(const ModuleStatistics& s, size_t shown);

}  // namespace graphnet

#endif  // GRAPHNET_IR_STATISTICS_REPORT_H_
