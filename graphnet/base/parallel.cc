#include "graphnet/base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace graphnet {

int NumCpus() {
  // Unlike std::thread::hardware_concurrency, this respects affinity masks.
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

void ParallelFor(size_t n, int jobs, absl::FunctionRef<void(size_t)> work) {
  std::atomic<size_t> next{0};
  const auto run = [&] {
    for (size_t i = next.fetch_add(1); i < n; i = next.fetch_add(1)) work(i);
  };
  std::vector<std::thread> threads;
  const size_t extra = std::min(n, static_cast<size_t>(std::max(1, jobs))) - (n > 0 ? 1 : 0);
  threads.reserve(extra);
  for (size_t i = 0; i < extra; ++i) {
    try {
      threads.emplace_back(run);
    } catch (const std::system_error&) {
      break;  // The system gives no more: those there are do all the work.
    }
  }
  run();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace graphnet
