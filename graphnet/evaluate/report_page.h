// Writes curves as one self-contained HTML page: plots, tables, the failures by class, and the
// samples, which can be filtered and sorted.
#ifndef GRAPHNET_EVALUATE_REPORT_PAGE_H_
#define GRAPHNET_EVALUATE_REPORT_PAGE_H_

#include <string>

#include "absl/types/span.h"
#include "graphnet/evaluate/curve.h"
#include "graphnet/evaluate/score.h"

namespace graphnet {

// Returns the page. `curves` must not be empty and must have been made with `options`.
std::string WriteReportPage(absl::Span<const Curve> curves, const ScoreOptions& options);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_REPORT_PAGE_H_
