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

// What a run found, by node of the main graph.
using FoundValues = absl::flat_hash_map<const Node*, c10::IValue>;

// `module`: has the metas that InferShapes gave it on `values`; `said`: the module before that,
// node for node; `found`: what InferShapes observed. Sizes in these metas that change with the
// data of inputs become symbols u0, u1, … that `module` gets, with the size that was found as the
// example, and expressions of such. Sizes that are one symbol are equal for all inputs, as far as
// runs with other sizes tell; what makes a later call fail when it changes stays a number. At most
// 64 sizes can be told apart: of a graph with more, and of one that does not run with its inputs'
// metas alone, all metas stay as they are.
void NameDataSizes(const Module& said, const std::map<std::string, TensorData>& values,
                   const FoundValues& found, Module* module);

// Symbols of `module` without an example, which sizes that depend on data have in programs of
// torch.export, get the size that was found.
void GiveExamples(const FoundValues& found, Module* module);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_DATA_SIZES_H_
