// Two graphs run on values of one kind, and compared.
#ifndef GRAPHNET_INTERP_COMPARE_RUNS_H_
#define GRAPHNET_INTERP_COMPARE_RUNS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "graphnet/interp/run_report.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Runs `a`, then `b`, with the same seed, and compares the outputs, and the values of nodes that
// have one name. Errors of PrepareRun and Executable::Run; those of b begin with `name_of_b`.
absl::StatusOr<RunComparison> CompareRuns(RunSide a, RunSide b, uint64_t seed,
                                          const std::string& name_of_b);

// By how much values of the same sizes differ. Errors of ToTensor.
absl::StatusOr<TensorDifference> DifferenceOf(const TensorData& a, const TensorData& b);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_COMPARE_RUNS_H_
