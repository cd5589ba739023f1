// What `graphnet diff-run` says of two graphs that ran.
#ifndef GRAPHNET_INTERP_COMPARISON_REPORT_H_
#define GRAPHNET_INTERP_COMPARISON_REPORT_H_

#include "graphnet/base/report.h"
#include "graphnet/interp/run_report.h"

namespace graphnet {

// Returns how values were paired, the first that differs, and all outputs. If `lists_values` is
// true, all compared values are listed, too.
Report ReportOf(const RunComparison& compared, bool lists_values);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_COMPARISON_REPORT_H_
