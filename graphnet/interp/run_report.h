// Values for runs of graphs, and reports of runs, without LibTorch.
#ifndef GRAPHNET_INTERP_RUN_REPORT_H_
#define GRAPHNET_INTERP_RUN_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graphnet/ir/module.h"
#include "graphnet/ir/node.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// In a run on the meta device, tensors of at most this many elements keep their
// data if it is known, because sizes may depend on it.
inline constexpr int64_t kMaxElementsWithData = 4096;

// The result of InferShapes (shapes.h).
struct ShapeReport {
  // The most bytes of tensors that live at once, inputs included. Views count together with
  // their base. Temporary memory of operators does not count.
  int64_t peak_bytes = 0;
  // Bytes of tensors that live while a node of the main graph runs, for each node that ran.
  absl::flat_hash_map<const Node*, int64_t> alive_bytes;
  size_t nodes = 0;  // nodes that got a meta
};

// The result of CheckShapes (shapes.h).
struct ShapeCheck {
  size_t passed = 0;
  std::vector<std::string> failed;  // nodes, by name
};

// The difference of two tensors of the same sizes (torch/comparison.h).
struct TensorDifference {
  double largest = 0;  // infinite if one of two elements is nan
  double mean = 0;
  int64_t elements = 0;  // elements that differ as numbers; two nans do not, nor do 0 and -0
};

// The comparison of an output of two graphs.
struct OutputDifference {
  bool equal = false;  // in bits, sizes and dtype
  bool are_tensors = false;
  // The rest is set for tensors that are not equal.
  bool same_dtype = false;
  bool same_shape = false;
  std::string form_a, form_b;   // "f32[2, 3]"
  TensorDifference difference;  // if the shapes are the same
  int64_t elements = 0;         // all elements
};

// One of the two graphs of CompareRuns (compare_runs.h).
struct RunSide {
  const Module* module = nullptr;
  std::map<std::string, TensorData> values;  // of inputs and attributes by name
  // Targets of inputs that stand for parameters of the other graph (PrepareOptions::parameters).
  absl::flat_hash_set<std::string> parameters;
};

// The result of CompareRuns.
struct RunComparison {
  size_t outputs_a = 0;
  size_t outputs_b = 0;
  std::vector<OutputDifference> outputs;  // outputs that both have
  size_t values = 0;                      // values with the same name in both graphs
  // True for each of these values that is equal, by the node of b.
  absl::flat_hash_map<const Node*, bool> equal;
  size_t different = 0;
  std::string first_difference;  // the first value that differs, "x = f"
  // Operands without effect on the outputs with these values, one line each (dead_paths.h).
  std::vector<std::string> dead_paths;

  // Returns true if all outputs are equal.
  bool same() const {
    return outputs_a == outputs_b &&
           absl::c_all_of(outputs, [](const OutputDifference& output) { return output.equal; });
  }
};

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_RUN_REPORT_H_
