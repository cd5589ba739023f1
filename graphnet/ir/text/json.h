// Modules, graphs and nodes as JSON, as `graphnet show --json` prints them.
#ifndef GRAPHNET_IR_TEXT_JSON_H_
#define GRAPHNET_IR_TEXT_JSON_H_

#include "graphnet/base/json.h"
#include "graphnet/base/report.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/sample.h"
#include "graphnet/ir/tensor_meta.h"

namespace graphnet {

// Adds the known ones of "dtype": "f32", "shape": [1, "S0"], "device": "cpu"; for a tuple
// "elements".
void SetMeta(const TensorMeta* meta, Json* value);
void SetMeta(const ValueMeta* meta, Json* value);
// Adds "args": ["%x", "2"] and "kwargs": {"dim": "-1"}, written as in the text form.
void SetArguments(const Node& node, Json* value);
// Return the inputs or outputs of a graph as [{"name": …, "dtype": …}, …].
Json InputsJson(const Graph& graph);
Json OutputsJson(const Graph& graph);
// Returns a whole sample for JSON alone: inputs, outputs, attributes, symbols, counts, and graphs with
// their nodes.
Report OutlineReport(const Sample& sample);

}  // namespace graphnet

#endif  // GRAPHNET_IR_TEXT_JSON_H_
