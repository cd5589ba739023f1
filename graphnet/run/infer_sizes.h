// Sizes that an engine infers, for passes and plans that change the sizes of a sample.
#ifndef GRAPHNET_RUN_INFER_SIZES_H_
#define GRAPHNET_RUN_INFER_SIZES_H_

#include "graphnet/ir/sample.h"
#include "graphnet/passes/pass.h"
#include "graphnet/run/engine.h"

namespace graphnet {

// Returns a function that sets the metas of all calls of a module (interp/shapes.h). Sizes may
// depend on small values: the module of `sample` has those that are drawn for it as it then is; a
// copy of it has those that are drawn for the sample as it is now, where they have the right sizes;
// any other module has none. Both arguments must outlive the function.
InferSizes InferSizesBy(const Engine& engine, const Sample& sample);

}  // namespace graphnet

#endif  // GRAPHNET_RUN_INFER_SIZES_H_
