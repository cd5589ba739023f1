// Values for runs of graphs, and reports of runs, without LibTorch.
#ifndef GRAPHNET_INTERP_RUN_REPORT_H_
#define GRAPHNET_INTERP_RUN_REPORT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graphnet/base/tolerance.h"
#include "graphnet/interp/rounding.h"
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
  // The elements that differ by more than a tolerance: |a - b| > atol + rtol * |a|.
  int64_t beyond = 0;
  double magnitude = 0;  // of the largest element of `a` that is finite

  // Returns the largest difference as a part of the largest element.
  double relative() const { return magnitude > 0 ? largest / magnitude : 0; }
};

// The comparison of an output of two graphs.
struct OutputDifference {
  bool equal = false;  // in bits, sizes and dtype
  bool close = false;  // of one form, and within the tolerance
  bool are_tensors = false;
  // The rest is set for tensors that are not equal.
  bool same_dtype = false;
  bool same_shape = false;
  std::string form_a, form_b;   // "f32[2, 3]"
  TensorDifference difference;  // if the shapes are the same
  int64_t elements = 0;         // all elements
  // What would have passed as this output, too, within the tolerance (inputs/wrong_answers.h);
  // empty if nothing wrong would have.
  std::string blind;
  std::optional<RoundingFinding> explained;  // if CompareOptions::explains
};

// One of the two graphs of CompareRuns (compare_runs.h).
struct RunSide {
  // Null for the second side if something else ran: `values` are then its outputs, o0, o1, ….
  const Module* module = nullptr;
  std::map<std::string, TensorData> values;  // of inputs and attributes by name
  // Targets of inputs that stand for parameters of the other graph (PrepareOptions::parameters).
  absl::flat_hash_set<std::string> parameters;
};

// Options of CompareRuns.
struct CompareOptions {
  uint64_t seed = 0;
  // Nodes that compute the same in both main graphs, such as PairNodes returns.
  std::vector<std::pair<const Node*, const Node*>> pairs;
  // The tolerance of outputs and values; 0 and 0: they must be equal in bits.
  Tolerance tolerance;
  // Says of outputs that differ whether rounding explains it (rounding.h), and which value is the
  // first that it does not explain. This runs the first graph some 16 to 33 times more.
  bool explains = false;
  std::map<std::string, TensorData> exact;  // the outputs of the first graph in float64, if known

  bool is_exact() const { return tolerance.atol == 0 && tolerance.rtol == 0; }
};

// Why two values are compared.
enum class PairedBy : uint8_t { kComputation, kModule, kName };
inline constexpr size_t kNumPairedBy = 3;

// Two values that were compared.
struct ComparedValue {
  const Node* a = nullptr;
  const Node* b = nullptr;
  PairedBy by = PairedBy::kComputation;
  bool equal = false;  // in bits, or within the tolerance
  // The difference of values that are not equal in bits; nullopt if it is not known: the values are
  // no tensors of as many elements, or there was no memory to keep them.
  std::optional<TensorDifference> difference;
  // If CompareOptions::explains, for floating-point numbers that differ.
  std::optional<RoundingFinding> explained;
};

// The result of CompareRuns.
struct RunComparison {
  size_t outputs_a = 0;
  size_t outputs_b = 0;
  std::vector<OutputDifference> outputs;         // outputs that both have
  std::vector<ComparedValue> values;             // in the order of b
  std::array<size_t, kNumPairedBy> paired = {};  // their number by each PairedBy
  size_t unpaired = 0;                           // values of b that have no partner
  size_t different = 0;
  // Operands without effect on the outputs with these values, one line each (dead_paths.h).
  std::vector<std::string> dead_paths;

  // Returns the first value that differs; null if none does.
  const ComparedValue* first_difference() const {
    const auto it =
        absl::c_find_if(values, [](const ComparedValue& value) { return !value.equal; });
    return it == values.end() ? nullptr : &*it;
  }
  // Returns true if all outputs are equal, or within the tolerance, or explained by rounding.
  bool same() const {
    return outputs_a == outputs_b && absl::c_all_of(outputs, [](const OutputDifference& output) {
             return output.equal || output.close ||
                    (output.explained.has_value() && output.explained->is_explained());
           });
  }
};

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_RUN_REPORT_H_
