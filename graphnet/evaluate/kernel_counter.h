// Counts the kernels that a backend makes of the first operators of a graph. An operator that adds no
// kernel to those before it is in the last of their kernels.
#ifndef GRAPHNET_EVALUATE_KERNEL_COUNTER_H_
#define GRAPHNET_EVALUATE_KERNEL_COUNTER_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "graphnet/decompose/ranges_file.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Counts the kernels of all prefixes of the main graph whose ends a cut may have, by bisection.
// Prefixes between two of the same count are not counted, since kernels seldom vanish: they get that
// count. `count` is called with each other prefix as a sample, once. FusedRanges (decompose/
// ranges_file.h) finds the ranges that make one kernel.
absl::StatusOr<KernelCounts> CountKernelsOfPrefixes(
    const Sample& sample, absl::FunctionRef<absl::StatusOr<int64_t>(const Sample&)> count);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_KERNEL_COUNTER_H_
