// Compares the weights of two samples, or of two checkpoints, name by name.
#ifndef GRAPHNET_INTERP_INPUTS_COMPARE_WEIGHTS_H_
#define GRAPHNET_INTERP_INPUTS_COMPARE_WEIGHTS_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graphnet/ir/sample.h"

namespace graphnet {

// Returns the largest difference of two elements of two tensors, as float64. A complex number
// counts as its two parts. The result is nan if one element is nan or infinite and the other one is
// not the same. Returns nullopt if the shapes differ, if only one dtype is complex, or if a dtype
// is not supported: floats of 8 bits, quantised dtypes.
std::optional<double> LargestDifference(const TensorData& a, const TensorData& b);

// A weight that differs: its dtype, shape or bytes differ, or one side lacks it.
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

// Compares `a` and `b`, to which the result refers. Each value is read once; pages of a mapped file
// do not stay in memory.
WeightDifferences CompareWeights(const std::map<std::string, TensorData>& a,
                                 const std::map<std::string, TensorData>& b);

// Returns one line on how two tensors differ: "f32[3] became f16[3], by at most 0.0012".
std::string DescribeDifference(const TensorData& a, const TensorData& b,
                               std::optional<double> largest);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_INPUTS_COMPARE_WEIGHTS_H_
