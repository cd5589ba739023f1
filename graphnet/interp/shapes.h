// Shapes and dtypes of all values, found by running the graph on tensors without
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
// dimensions are run with their example values. A size is then written as s + b,
// a * s + b or a * s * t of symbols s and t if runs with other values agree with
// that, else as the number that it is with the example values; so it is where the
// graph holds for these only. Where a size cannot be computed, because it depends on data that
// is not there or because an operator cannot tell it, the node keeps the meta that it has, and
// what follows is computed from that.
// `values`: of inputs and attributes, as DrawInputs yields them; small ones among
// them are computed with, so that sizes that depend on data (item(), boolean
// masks) are right as long as they depend on small tensors; others may be left
// out, then their meta counts. FailedPrecondition names the first node whose shape
// depends on data that is not there and that has no meta; all nodes that do not depend on it have
// theirs then. InvalidArgument names a node that cannot be run; what comes before it has its meta,
// unless the module has symbols. A nested tensor has no meta, as it has no sizes.
// `observer` sees each value, with data or without.
absl::StatusOr<ShapeReport> InferShapes(Module* module,
                                        const std::map<std::string, TensorData>& values,
                                        const Observer& observer = {});

// Runs the module, whose metas are known, and compares each value with its meta. A size that
// depends on data is one size wherever it stands. Errors of PrepareRun and Executable::Run.
absl::StatusOr<ShapeCheck> CheckShapes(const Module& module,
                                       std::map<std::string, TensorData> values);

// What is known of a value by itself, with the devices of `known`, which may be null; null
// for what is neither a tensor nor a tuple or list of such.
const ValueMeta* MetaOfValue(const c10::IValue& value, const ValueMeta* known, Module* module);

// ShapeReport::peak_bytes alone; the module is left as it is. Where the shapes of the rest cannot
// be told, it is what the calls before that need.
int64_t PeakBytes(const Module& module, const std::map<std::string, TensorData>& values);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_SHAPES_H_
