// What the values of a graph are like: inferred, or measured in a run.
#ifndef GRAPHNET_INTERP_OBSERVE_H_
#define GRAPHNET_INTERP_OBSERVE_H_

#include "absl/status/status.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/ir/observed_values.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Of the main graph's values, shapes and dtypes as InferShapes finds them with inputs that
// are drawn, and how to draw them so that a graph which takes them runs: integers within
// what is known of them, else zeros, which are an index into anything. Fills `found` as far
// as it gets; an error says why no further. With `name_sizes`, sizes that depend on the data that
// was drawn are symbols of found->module (data_sizes.h), and else numbers.
absl::Status InferValues(const Sample& sample, bool name_sizes, ObservedValues* found);

// Runs the graph on inputs that are drawn, and adds to what InferValues finds the mean,
// standard deviation, minimum and maximum of each tensor, and the elements of those with
// few. Errors of DrawInputs, PrepareRun and Executable::Run.
absl::Status MeasureValues(const Sample& sample, const DrawOptions& draw, ObservedValues* found);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_OBSERVE_H_
