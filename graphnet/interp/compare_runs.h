// Runs two graphs and compares their values.
#ifndef GRAPHNET_INTERP_COMPARE_RUNS_H_
#define GRAPHNET_INTERP_COMPARE_RUNS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "graphnet/interp/run_report.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Runs `a`, then `b`, with the same seed, and compares the outputs and the values of nodes that
// belong together: those that `options.pairs` has, then those of one module and shape, then those
// of one name. Values are compared as rows of numbers, so that two shapes of as many elements
// agree. A pair of the last two kinds whose values differ does not count if one of the values is
// found elsewhere in the other graph: it is no pair then.
//
// Fails as PrepareRun and Executable::Run do; errors of `b` begin with `name_of_b`.
absl::StatusOr<RunComparison> CompareRuns(const RunSide& a, const RunSide& b,
                                          const CompareOptions& options,
                                          const std::string& name_of_b);

// Returns by how much tensors of the same sizes differ. Fails as ToTensor does.
absl::StatusOr<TensorDifference> DifferenceOf(const TensorData& a, const TensorData& b);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_COMPARE_RUNS_H_
