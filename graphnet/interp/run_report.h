// The values that runs of graphs are given, and the reports of them, without LibTorch.
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

// In a run on the meta device, tensors of at most so many elements keep their
// data if it is known: sizes may depend on it.
inline constexpr int64_t kMaxElementsWithData = 4096;

// The result of InferShapes (shapes.h).
struct ShapeReport {
  // Bytes of all tensors that live at once, at most, inputs included; views
  // count with what they are views of. What operators use inside does not count.
  int64_t peak_bytes = 0;
  // The same for each node of the main graph that ran, while it runs.
  absl::flat_hash_map<const Node*, int64_t> alive_bytes;
  size_t nodes = 0;  // that got a meta
};

// The result of CheckShapes (shapes.h).
struct ShapeCheck {
  size_t passed = 0;
  std::vector<std::string> failed;  // nodes, by name
};

// How two tensors of the same sizes differ (torch/comparison.h).
struct TensorDifference {
  double largest = 0;  // infinite where one of two elements is nan
  double mean = 0;
  int64_t elements = 0;  // that differ as numbers; two nans do not, nor do 0 and -0
};

// How an output of two graphs compares.
struct OutputDifference {
  bool equal = false;  // in bits, sizes and dtype
  bool are_tensors = false;
  // The rest is set for tensors that are not equal.
  bool same_dtype = false;
  bool same_shape = false;
  std::string form_a, form_b;   // "f32[2, 3]"
  TensorDifference difference;  // of those of the same shape
  int64_t elements = 0;         // in all
};

// One of the two graphs of CompareRuns (compare_runs.h).
struct RunSide {
  const Module* module = nullptr;
  std::map<std::string, TensorData> values;  // of inputs and attributes by name
  // Inputs, by target, that stand for parameters of the other graph (PrepareOptions::parameters).
  absl::flat_hash_set<std::string> parameters;
};

// The result of CompareRuns.
struct RunComparison {
  size_t outputs_a = 0;
  size_t outputs_b = 0;
  std::vector<OutputDifference> outputs;  // that both have
  size_t values = 0;                      // of one name in both graphs
  // Whether each of these values is equal, by the node of b; and the first that is not, "x = f".
  absl::flat_hash_map<const Node*, bool> equal;
  size_t different = 0;
  std::string first_difference;
  // What has no effect on the outputs with these values, one line each (dead_paths.h).
  std::vector<std::string> dead_paths;

  // Whether all outputs are equal.
  bool same() const {
    return outputs_a == outputs_b &&
           absl::c_all_of(outputs, [](const OutputDifference& output) { return output.equal; });
  }
};

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_RUN_REPORT_H_
