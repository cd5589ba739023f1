#include "graphnet/base/parallel.h"

#include <sys/resource.h>

#include <atomic>
#include <climits>
#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace graphnet {
namespace {

TEST(ParallelForTest, CallsEachOnce) {
  for (const int jobs : {INT_MIN, -1, 0, 1, 2, 7, 64}) {
    for (const size_t n : {0, 1, 2, 63, 1000}) {
      std::vector<std::atomic<int>> calls(n);
      ParallelFor(n, jobs, [&](size_t i) { ++calls[i]; });
      for (const std::atomic<int>& count : calls) EXPECT_EQ(count, 1);
    }
  }
}

TEST(ParallelForTest, OneJobRunsInOrderOnTheCallersThread) {
  std::vector<size_t> order;
  const std::thread::id caller = std::this_thread::get_id();
  ParallelFor(5, 1, [&](size_t i) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    order.push_back(i);
  });
  EXPECT_EQ(order, (std::vector<size_t>{0, 1, 2, 3, 4}));
}

TEST(ParallelForTest, StartsNoMoreThreadsThanAsked) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  ParallelFor(1000, 3, [&](size_t) {
    const std::lock_guard<std::mutex> lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_LE(threads.size(), 3u);
}

#ifndef __SANITIZE_ADDRESS__  // which needs the whole address space
// In an address space of 256 MiB there is room for the stacks of a few threads;
// those that there are do all the work.
TEST(ParallelForTest, DoesWithFewerThreads) {
  const auto run = [] {
    rlimit limit;
    limit.rlim_cur = limit.rlim_max = rlim_t{1} << 28;
    if (setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(0);
    std::atomic<int> calls{0};
    ParallelFor(5000, 5000, [&](size_t) { ++calls; });
    std::_Exit(calls == 5000 ? 0 : 1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}
#endif

TEST(NumCpusTest, IsAtLeastOne) { EXPECT_GE(NumCpus(), 1); }

}  // namespace
}  // namespace graphnet
