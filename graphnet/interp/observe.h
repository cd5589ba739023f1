// Describes the values of a graph: by inference, or by measurement in a run.
#ifndef GRAPHNET_INTERP_OBSERVE_H_
#define GRAPHNET_INTERP_OBSERVE_H_

#include "absl/status/status.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/ir/observed_values.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Infers the shapes and dtypes of the main graph's values with drawn inputs, as InferShapes does,
// and how to draw the values so that a graph that takes them runs: integers within their known
// bounds, else zeros, which are a valid index into anything. Fills `found` as far as it gets; an
// error says why it stopped. With `name_sizes`, sizes that depend on drawn data become symbols of
// found->module (data_sizes.h); otherwise they are numbers.
absl::Status InferValues(const Sample& sample, bool name_sizes, ObservedValues* found);

// Runs the graph on drawn inputs. Adds to the results of InferValues the mean, standard deviation,
// minimum and maximum of each tensor, and the elements of small tensors. Fails as DrawInputs,
// PrepareRun and Executable::Run do.
absl::Status MeasureValues(const Sample& sample, const DrawOptions& draw, ObservedValues* found);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_OBSERVE_H_
