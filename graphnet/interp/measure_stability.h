// Measures how many digits of each value of a program survive rounding.
#ifndef GRAPHNET_INTERP_MEASURE_STABILITY_H_
#define GRAPHNET_INTERP_MEASURE_STABILITY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graphnet/interp/measure_rounding.h"
#include "graphnet/interp/stability.h"

namespace graphnet {

// Runs a program once as it is, and 16 times with random rounding. `seed` is that of the program's own
// random numbers. Keeps the values of one run, in at most a quarter of the free memory. Fails as `run`
// does.
absl::StatusOr<Stability> MeasureStability(const RunAgain& run, uint64_t seed);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_MEASURE_STABILITY_H_
