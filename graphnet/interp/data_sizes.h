// Sizes that depend on the data of inputs, such as that of x[x > 0].
#ifndef GRAPHNET_INTERP_DATA_SIZES_H_
#define GRAPHNET_INTERP_DATA_SIZES_H_

#include <map>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "graphnet/interp/executable.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// The values that a run found, by node of the main graph.
using FoundValues = absl::flat_hash_map<const Node*, c10::IValue>;

// Replaces sizes in the metas of `module` that change with the data of inputs by new symbols u0,
// u1, … and expressions of them. The example of a symbol is the size that was found. `module` has
// the metas that InferShapes gave it on `values`, `said` is the module before that, node for node,
// and `found` are the values that InferShapes observed. Sizes share a symbol if they are equal in
// all runs with other sizes; a size whose change makes a later call fail stays a number. If there
// are more than 64 such sizes, or if the graph does not run with its inputs' metas alone, all metas
// stay as they are.
void NameDataSizes(const Module& said, const std::map<std::string, TensorData>& values,
                   const FoundValues& found, Module* module);

// Gives symbols of `module` without an example the size that was found. Programs of torch.export
// have such symbols for sizes that depend on data.
void GiveExamples(const FoundValues& found, Module* module);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_DATA_SIZES_H_
