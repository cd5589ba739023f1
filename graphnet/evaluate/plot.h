// Curves as an SVG drawing: ES(t), a line up to t = 0 and steps from there on, with the squares
// that the macro parameters give and the intervals; S(t); violins of the speedups.
#ifndef GRAPHNET_EVALUATE_PLOT_H_
#define GRAPHNET_EVALUATE_PLOT_H_

#include <cstddef>
#include <string>

#include "absl/types/span.h"
#include "graphnet/evaluate/curve.h"

namespace graphnet {

// No script, no font and no file besides it. `curves` is not empty.
std::string WritePlots(absl::Span<const Curve> curves);

// What curve `i` is drawn in: "#0072b2".
std::string CurveColor(size_t i);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_PLOT_H_
