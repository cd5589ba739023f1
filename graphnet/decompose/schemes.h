// Schemes: ways to choose where a graph is cut. Each yields cuts (positions before operators,
// strictly rising, neither 0 nor the end), a range, or a list of operators, which are counted as
// in range_decomposer.h. A cut that would go through a region moves to its end; cuts that then
// coincide become one.
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

// Cuts after every `size` operators. size >= 1.
std::vector<int64_t> CutsEvery(int64_t size, const Regions& regions, int64_t num_operators);

// Returns the module path of each operator: its own (Node::module_path), or else that of a parameter
// it takes, by the parameter's name: "layer1.0.conv1.weight", or
// "L_self_modules_layer1_modules_0_modules_conv1_parameters_weight_" as torch.export and GraphNet
// write it; or else that of the operator before it, which is empty if no operator before has one.
std::vector<std::string> ModulePaths(const GraphIndex& index);

// Cuts where the first `depth` components of the module path change. FailedPrecondition if no
// operator has a path.
absl::StatusOr<std::vector<int64_t>> ModuleCuts(int depth, const GraphIndex& index,
                                                const Regions& regions);

// Returns the smallest range that has all operators on the paths from `inputs` to `outputs`; if
// `inputs` is empty, all operators that `outputs` depend on. Both are names of nodes. NotFound for
// a name that the graph does not have; FailedPrecondition if no operator lies between, or if an end
// of the range lies in a region.
absl::StatusOr<Range> RangeOfValues(absl::Span<const std::string> inputs,
                                    absl::Span<const std::string> outputs, const GraphIndex& index,
                                    const Regions& regions);

// Returns the operators of the module `path` and of the modules below it, in order (ModulePaths).
// Other operators may stand between them (GatherNodes). NotFound, with similar
// paths, if there are none.
absl::StatusOr<std::vector<Node*>> NodesOfModule(absl::string_view path, const GraphIndex& index);

}  // namespace graphnet

#endif  // GRAPHNET_DECOMPOSE_SCHEMES_H_
