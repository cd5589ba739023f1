// Measures what rounding can do to the outputs of a program, by runs with random rounding.
#ifndef GRAPHNET_INTERP_MEASURE_ROUNDING_H_
#define GRAPHNET_INTERP_MEASURE_ROUNDING_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ATen/core/ivalue.h"
#include "absl/status/statusor.h"
#include "graphnet/interp/executable.h"
#include "graphnet/interp/prepare.h"
#include "graphnet/interp/rounding.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Runs the program on the same values as each time before, and returns its outputs.
using RunAgain = std::function<absl::StatusOr<std::vector<c10::IValue>>(const RunOptions& options)>;

struct MeasureRoundingOptions {
  uint64_t seed = 0;  // of the program's own random numbers
  int runs = 16;
  // Runs with larger moves, which find the decisions that rounding may flip.
  int deciding_runs = 16;
  // The outputs in float64, by the same names; those that are missing are unknown.
  std::map<std::string, TensorData> exact;
  // Results that are to be judged, by the same names; null if they are not known yet. The deciding runs
  // are left out if rounding explains all of these.
  const std::map<std::string, TensorData>* others = nullptr;
  // Sees the values of the runs that give the spreads: `run` is -1 for the one without random
  // rounding, which comes first, and then from 0 on. May be null.
  std::function<absl::Status(int run, const Node& node, const c10::IValue& value)> observer;
};

// Returns for each output, by the names of NameOutputs (tensors.h), what rounding can do to it. Runs
// the program 1 + `runs` times, and `deciding_runs` times more if it takes decisions. Fails as `run`
// does. Fewer runs are made if the outputs of all do not fit an eighth of the free memory.
absl::StatusOr<std::map<std::string, OutputRounding>> MeasureRounding(
    const RunAgain& run, const MeasureRoundingOptions& options);

// Does the same for a graph on `values` of its inputs and attributes. Fails as PrepareRun and
// Executable::Run do.
absl::StatusOr<std::map<std::string, OutputRounding>> MeasureRoundingOf(
    const Module& module, std::map<std::string, TensorData> values, const PrepareOptions& prepare,
    const MeasureRoundingOptions& options);

// Returns the same for a value inside a program, of which only the sums of squares are known:
// `squares` are those of the distances of each element from `value` in `runs` runs, as doubles, two
// for a complex element. Its decisions are not known.
OutputRounding RoundingOfValue(const TensorData& value, const std::vector<double>& squares,
                               size_t runs);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_MEASURE_ROUNDING_H_
