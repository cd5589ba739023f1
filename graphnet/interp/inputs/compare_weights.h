// The weights of two samples, or of two checkpoints, compared name by name.
#ifndef GRAPHNET_INTERP_INPUTS_COMPARE_WEIGHTS_H_
#define GRAPHNET_INTERP_INPUTS_COMPARE_WEIGHTS_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graphnet/ir/sample.h"

namespace graphnet {

// The largest difference of two elements of two tensors, as float64. A complex number counts as its
// two parts. The result is nan where one element is nan or infinite and the other one is not the
// same. Nothing if the shapes differ, if only one dtype is complex, or if one has no numbers that
// are known here: floats of 8 bits, quantised ones.
std::optional<double> LargestDifference(const TensorData& a, const TensorData& b);

// A weight that is not the same in both: its dtype, shape or bytes differ, or one side lacks it.
struct WeightDifference {
  std::string name;
  const TensorData* a = nullptr;  // null: only the other side has it
  const TensorData* b = nullptr;
  std::optional<double> largest;  // LargestDifference of both
};

struct WeightDifferences {
  size_t compared = 0;                        // weights that both have
  std::vector<WeightDifference> differences;  // by name
};

// The result refers to `a` and `b`. Each value is read once, and what is read of a mapped file does
// not stay in memory.
WeightDifferences CompareWeights(const std::map<std::string, TensorData>& a,
                                 const std::map<std::string, TensorData>& b);

// Says in one line how two tensors differ: "f32[3] became f16[3], by at most 0.0012".
std::string DescribeDifference(const TensorData& a, const TensorData& b,
                               std::optional<double> largest);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_INPUTS_COMPARE_WEIGHTS_H_
