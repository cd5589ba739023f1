// Draws curves as SVG: ES(t) as a line up to t = 0 and as steps from there on, with squares for the
// values of the macro parameters, and with the intervals; S(t); violins of the speedups.
#ifndef GRAPHNET_EVALUATE_PLOT_H_
#define GRAPHNET_EVALUATE_PLOT_H_

#include <cstddef>
#include <string>

#include "absl/types/span.h"
#include "graphnet/evaluate/curve.h"

namespace graphnet {

// Returns one SVG drawing that needs no script, font or other file. `curves` must not be empty.
std::string WritePlots(absl::Span<const Curve> curves);

// Returns the colour of curve `i`: "#0072b2".
std::string CurveColor(size_t i);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_PLOT_H_
