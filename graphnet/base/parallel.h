// ParallelFor: independent work on a few threads.
#ifndef GRAPHNET_BASE_PARALLEL_H_
#define GRAPHNET_BASE_PARALLEL_H_

#include <cstddef>

#include "absl/functional/function_ref.h"

namespace graphnet {

// The number of threads this process may run at once.
int NumCpus();

// Calls work(i) for every i in [0, n), each once, on up to `jobs` threads (the
// caller's included; at least one), in rising order of start. Returns when all
// are done. `work` must not throw.
void ParallelFor(size_t n, int jobs, absl::FunctionRef<void(size_t)> work);

}  // namespace graphnet

#endif  // GRAPHNET_BASE_PARALLEL_H_
