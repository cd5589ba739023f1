// Schemes: ways to choose where a graph is cut. Each yields cuts (positions
// before operators, strictly rising, neither 0 nor the end) or a range, of
// operators as range_decomposer.h counts them. A cut that would go through a
// region is moved to the end of it; cuts that thereby meet become one.
#ifndef GRAPHNET_DECOMPOSE_SCHEMES_H_
#define GRAPHNET_DECOMPOSE_SCHEMES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graphnet/decompose/graph_index.h"
#include "graphnet/decompose/range_decomposer.h"
#include "graphnet/decompose/regions.h"

namespace graphnet {

// After every `size` operators. size >= 1.
std::vector<int64_t> CutsEvery(int64_t size, const Regions& regions, int64_t num_operators);

// Where the first `depth` components of the module path change. An operator's path
// is its own (Node::module_path); else that of a parameter it takes, by its name:
// "layer1.0.conv1.weight", or "L_self_modules_layer1_modules_0_modules_conv1_
// parameters_weight_" as torch.export and GraphNet write it; else that of the
// operator before it. FailedPrecondition if no operator has a path.
absl::StatusOr<std::vector<int64_t>> ModuleCuts(int depth, const GraphIndex& index,
                                                const Regions& regions);

// The smallest range with all operators by which `outputs` depend on `inputs`; on
// anything, if `inputs` is empty. All are names of nodes. NotFound for a name that
// the graph does not have; FailedPrecondition if no operator lies between or the
// range goes through a region.
absl::StatusOr<Range> RangeOfValues(absl::Span<const std::string> inputs,
                                    absl::Span<const std::string> outputs, const GraphIndex& index,
                                    const Regions& regions);

// The operators of the module `path` and of those below it, by paths as of ModuleCuts, in
// order. Other operators may stand between them (GatherNodes). NotFound, with the paths that are
// alike, if there are none.
absl::StatusOr<std::vector<Node*>> NodesOfModule(absl::string_view path, const GraphIndex& index);

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_SCHEMES_H_
