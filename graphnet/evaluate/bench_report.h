// What `graphnet bench` says when it ends.
#ifndef GRAPHNET_EVALUATE_BENCH_REPORT_H_
#define GRAPHNET_EVALUATE_BENCH_REPORT_H_

#include <vector>

#include "graphnet/base/report.h"
#include "graphnet/evaluate/bench.h"

namespace graphnet {

// Returns the outcomes and the median speedup of each backend, and the command that scores them.
Report ReportOf(const std::vector<BackendResults>& all);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_BENCH_REPORT_H_
