// What `graphnet score` says of a curve.
#ifndef GRAPHNET_EVALUATE_CURVE_REPORT_H_
#define GRAPHNET_EVALUATE_CURVE_REPORT_H_

#include "graphnet/base/report.h"
#include "graphnet/evaluate/curve.h"

namespace graphnet {

// Returns the scores of a curve at each t, their parts, what failed and what counts most.
Report ReportOf(const Curve& curve, const ScoreOptions& options);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_CURVE_REPORT_H_
