// Makes the values on which two samples run to be compared.
#ifndef GRAPHNET_EVALUATE_PAIRED_VALUES_H_
#define GRAPHNET_EVALUATE_PAIRED_VALUES_H_

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "graphnet/evaluate/input_values.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// The sample whose weights the two graphs of diff-run use.
enum class WeightsOf { kOwn, kA, kB };

struct PairedValues {
  using Values = std::map<std::string, TensorData>;
  // The name in the first sample and the name in the second.
  using Names = std::vector<std::pair<std::string, std::string>>;

  Values first, second;
  Names weights;  // in both samples: attributes, and inputs that stand for an attribute
  Names inputs;   // all other inputs
  // Numbers of weights whose values one sample took from the other.
  size_t taken_by_first = 0;
  size_t taken_by_second = 0;
  // Number of values of the second sample that have no partner in the first.
  size_t unpaired = 0;
  // Targets of inputs that stand for a parameter of the other sample.
  absl::flat_hash_set<std::string> parameters_of_first, parameters_of_second;
};

// Pairs the values of two samples: those with the same name, or the same name before a pass renamed
// them.
//
// Each sample uses its own weights, or both use those of `weights`. A sample that does not know the
// values of a weight also takes those of the other. Values are taken only if they have the dtype
// and sizes that the sample states for the weight. A weight that neither knows is drawn: one value
// for both if they describe it alike, or if one of them does not describe it.
//
// Both samples get the same inputs, as the options describe them, or else the first sample. If the
// second sample states another dtype for an input, it gets its own value; for floats that the
// options describe, it gets the same value converted to its dtype.
//
// The samples receive the known values.
absl::StatusOr<PairedValues> PairValues(const InputOptions& options, WeightsOf weights,
                                        const DrawOptions& draw, Sample* first, Sample* second);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_PAIRED_VALUES_H_
