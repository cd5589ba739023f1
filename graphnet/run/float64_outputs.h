// Runs a sample in float64, which shows by how much its own dtypes round.
#ifndef GRAPHNET_RUN_FLOAT64_OUTPUTS_H_
#define GRAPHNET_RUN_FLOAT64_OUTPUTS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graphnet/ir/sample.h"
#include "graphnet/run/engine.h"

namespace graphnet {

// Returns the outputs, o0, o1, …, of the program with all floats as float64, for the same `values` of
// inputs and attributes. Fails as the pass change-dtype and Engine::Prepare do.
absl::StatusOr<TensorValues> Float64Outputs(const Engine& engine, const Module& module,
                                            const TensorValues& values, uint64_t seed);

}  // namespace graphnet

#endif  // GRAPHNET_RUN_FLOAT64_OUTPUTS_H_
