// ParallelFor: independent work on a few threads.
#ifndef GRAPHNET_BASE_PARALLEL_H_
#define GRAPHNET_BASE_PARALLEL_H_

#include <cstddef>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace graphnet {

// The number of threads this process may run at once.
int NumCpus();

// Calls work(i) for every i in [0, n), each once, on up to `jobs` threads (the
// caller's included; at least one), in rising order of start, and done(i, status)
// with what came of it, one call at a time. Returns when all are done. What work(i)
// throws, out of memory among it, is its status; `done` must not throw.
void ParallelFor(size_t n, int jobs, absl::FunctionRef<absl::Status(size_t)> work,
                 absl::FunctionRef<void(size_t, const absl::Status&)> done);

}  // namespace graphnet

#endif  // GRAPHNET_BASE_PARALLEL_H_
