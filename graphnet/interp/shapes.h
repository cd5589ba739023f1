// Infers the shapes and dtypes of all values by running the graph on tensors without
// data (LibTorch's meta device).
#ifndef GRAPHNET_INTERP_SHAPES_H_
#define GRAPHNET_INTERP_SHAPES_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "graphnet/interp/executable.h"
#include "graphnet/interp/run_report.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Sets the metas of the nodes of the main graph. Placeholders keep theirs; symbolic
// dimensions run with their example values. A size is then written as s + b, a * s + b
// or a * s * t of symbols s and t if runs with other values agree with that; otherwise, or
// if the graph is valid for the example values only, it is a number. If a size cannot be
// computed, because it depends on missing data or an operator does not support it, the node
// keeps the meta that it has, and later sizes are computed from that.
//
// `values` are those of inputs and attributes, as DrawInputs returns them. Small ones keep
// their data, so sizes that depend on data (item(), boolean masks) are right as long as they
// depend on small tensors. Others may be missing; then their metas count. `observer` sees each
// value, with data or without.
//
// FailedPrecondition names the first node that has no meta and whose shape depends on missing
// data; all nodes that do not depend on it have their metas then. InvalidArgument names a node
// that cannot run; the nodes before it have their metas, unless the module has symbols. The meta of
// a nested tensor has no shape.
absl::StatusOr<ShapeReport> InferShapes(Module* module,
                                        const std::map<std::string, TensorData>& values,
                                        const Observer& observer = {});

// Runs the module, whose metas are known, and compares each value with its meta. A symbol of a size
// that depends on data must have the same size everywhere. Fails as PrepareRun and Executable::Run
// do.
absl::StatusOr<ShapeCheck> CheckShapes(const Module& module,
                                       std::map<std::string, TensorData> values);

// Returns the meta of a value, with the devices of `known`, which may be null. Returns null unless
// the value is a tensor or a tuple or list of tensors.
const ValueMeta* MetaOfValue(const c10::IValue& value, const ValueMeta* known, Module* module);

// Returns ShapeReport::peak_bytes without changing the module. If shapes cannot be inferred from
// some call on, only the calls before it count.
int64_t PeakBytes(const Module& module, const std::map<std::string, TensorData>& values);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_SHAPES_H_
