// Infers dtypes and sizes without running anything and without LibTorch:
//
//   ASSIGN_OR_RETURN(const size_t unknown, InferShapesByRules(module.get()));
//   if (unknown > 0) std::cout << "no rule knows " << unknown << " calls";
//
// `graphnet shapes` runs a graph on LibTorch's meta device where no rule knows.
#ifndef GRAPHNET_FACTS_SHAPES_INFER_SHAPES_H_
#define GRAPHNET_FACTS_SHAPES_INFER_SHAPES_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "graphnet/ir/module.h"

namespace graphnet {

// Gives metas to the values of the main graph that have none or an incomplete one, as far as the rules for
// operators (facts/shapes/results.txt) know the dtype and all sizes, or the dtype alone, from the metas of
// inputs, attributes and other calls. Metas of tuples and symbolic sizes are not inferred. Returns the
// number of calls with a value of which dtype or sizes are still unknown, such as those of unknown
// operators; numbers and tuples do not count. Fails if the module cannot be lowered (ops/lowering.h).
absl::StatusOr<size_t> InferShapesByRules(Module* module);

}  // namespace graphnet

#endif  // GRAPHNET_FACTS_SHAPES_INFER_SHAPES_H_
