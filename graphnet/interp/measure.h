// Measures the values of a run when they are there.
#ifndef GRAPHNET_INTERP_MEASURE_H_
#define GRAPHNET_INTERP_MEASURE_H_

#include <optional>

#include "ATen/core/ivalue.h"
#include "graphnet/interp/value_statistics.h"

namespace graphnet {

// Returns the statistics of a dense tensor, in doubles; nullopt for any other value. Takes the memory of
// a copy if the tensor is not contiguous. LibTorch may throw.
std::optional<ValueStatistics> Measure(const c10::IValue& value);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_MEASURE_H_
