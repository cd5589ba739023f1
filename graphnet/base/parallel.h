// ParallelFor runs independent work on several threads.
#ifndef GRAPHNET_BASE_PARALLEL_H_
#define GRAPHNET_BASE_PARALLEL_H_

#include <cstddef>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace graphnet {

// Returns the number of threads that this process may run at once.
int NumCpus();

// Calls work(i) once for every i in [0, n), on up to `jobs` threads, at least one, including the
// caller's. Calls start in rising order of i. After each, done(i, status) is called, one call at a
// time. Returns after all calls. An exception of work(i), such as std::bad_alloc, becomes its
// status. `done` must not throw.
void ParallelFor(size_t n, int jobs, absl::FunctionRef<absl::Status(size_t)> work,
                 absl::FunctionRef<void(size_t, const absl::Status&)> done);

}  // namespace graphnet

#endif  // GRAPHNET_BASE_PARALLEL_H_
