// Curves as one HTML page that needs nothing besides it: plots, tables, the failures by class and
// the samples, which filter and sort.
#ifndef GRAPHNET_EVALUATE_REPORT_PAGE_H_
#define GRAPHNET_EVALUATE_REPORT_PAGE_H_

#include <string>

#include "absl/types/span.h"
#include "graphnet/evaluate/curve.h"
#include "graphnet/evaluate/score.h"

namespace graphnet {

// `curves` is not empty, and made with `options`.
std::string WriteReportPage(absl::Span<const Curve> curves, const ScoreOptions& options);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_REPORT_PAGE_H_
