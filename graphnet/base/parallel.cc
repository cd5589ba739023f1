#include "graphnet/base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "graphnet/base/status.h"

namespace graphnet {

int NumCpus() {
  // Unlike std::thread::hardware_concurrency, this respects affinity masks.
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

namespace {

// Returns a status for the exception that is being handled.
absl::Status ThrownStatus() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory");
  } catch (const std::exception& error) {
    return absl::InternalError(Printable(error.what(), 500));
  } catch (...) {
    return absl::InternalError("an exception of unknown type");
  }
}

}  // namespace

void ParallelFor(size_t n, int jobs, absl::FunctionRef<absl::Status(size_t)> work,
                 absl::FunctionRef<void(size_t, const absl::Status&)> done) {
  std::atomic<size_t> next{0};
  std::mutex mutex;
  const auto run = [&] {
    for (size_t i = next.fetch_add(1); i < n; i = next.fetch_add(1)) {
      absl::Status status;
      try {
        status = work(i);
      } catch (...) {
        status = ThrownStatus();
      }
      const std::lock_guard<std::mutex> lock(mutex);
      done(i, status);
    }
  };
  std::vector<std::thread> threads;
  const size_t extra = std::min(n, static_cast<size_t>(std::max(1, jobs))) - (n > 0 ? 1 : 0);
  threads.reserve(extra);
  for (size_t i = 0; i < extra; ++i) {
    try {
      threads.emplace_back(run);
    } catch (const std::system_error&) {
      break;  // The system refuses more threads: the running ones do all the work.
    }
  }
  run();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace graphnet
