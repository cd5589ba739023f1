#include "graphnet/base/parallel.h"

#include <sys/resource.h>

#include <atomic>
#include <climits>
#include <cstdlib>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

void ExpectOk(size_t, const absl::Status& status) { EXPECT_OK(status); }

TEST(ParallelForTest, CallsEachOnce) {
  for (const int jobs : {INT_MIN, -1, 0, 1, 2, 7, 64}) {
    for (const size_t n : {0, 1, 2, 63, 1000}) {
      std::vector<std::atomic<int>> calls(n);
      std::vector<int> done(n);
      ParallelFor(
          n, jobs,
          [&](size_t i) {
            ++calls[i];
            return absl::OkStatus();
          },
          [&](size_t i, const absl::Status& status) {
            EXPECT_OK(status);
            ++done[i];  // Calls do not overlap, so no lock is needed.
          });
      for (const std::atomic<int>& count : calls) EXPECT_EQ(count, 1);
      for (const int count : done) EXPECT_EQ(count, 1);
    }
  }
}

TEST(ParallelForTest, OneJobRunsInOrderOnTheCallersThread) {
  std::vector<size_t> order;
  const std::thread::id caller = std::this_thread::get_id();
  ParallelFor(
      5, 1,
      [&](size_t i) {
        EXPECT_EQ(std::this_thread::get_id(), caller);
        order.push_back(i);
        return absl::OkStatus();
      },
      ExpectOk);
  EXPECT_EQ(order, (std::vector<size_t>{0, 1, 2, 3, 4}));
}

TEST(ParallelForTest, StartsNoMoreThreadsThanAsked) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  ParallelFor(
      1000, 3,
      [&](size_t) {
        const std::lock_guard<std::mutex> lock(mutex);
        threads.insert(std::this_thread::get_id());
        return absl::OkStatus();
      },
      ExpectOk);
  EXPECT_LE(threads.size(), 3u);
}

// An exception in a worker is the error of that call alone, and the other calls continue.
TEST(ParallelForTest, TurnsExceptionsIntoStatuses) {
  for (const int jobs : {1, 3}) {
    std::vector<absl::Status> statuses(100, absl::UnknownError("not called"));
    ParallelFor(
        statuses.size(), jobs,
        [](size_t i) -> absl::Status {
          if (i == 10) throw std::bad_alloc();
          if (i == 20) throw std::length_error("vector::reserve\nand more");
          if (i == 30) throw 30;
          if (i == 40) return absl::NotFoundError("none");
          return absl::OkStatus();
        },
        [&](size_t i, const absl::Status& status) { statuses[i] = status; });
    for (size_t i = 0; i < statuses.size(); ++i) {
      const absl::Status expected = i == 10   ? absl::ResourceExhaustedError("out of memory")
                                    : i == 20 ? absl::InternalError("vector::reserve\\nand more")
                                    : i == 30 ? absl::InternalError("an exception of unknown type")
                                    : i == 40 ? absl::NotFoundError("none")
                                              : absl::OkStatus();
      EXPECT_EQ(statuses[i], expected) << i;
    }
  }
}

// A sanitizer needs the whole address space.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// An address space of 256 MiB has room for the stacks of a few threads only. They do all the work.
TEST(ParallelForTest, DoesWithFewerThreads) {
  const auto run = [] {
    rlimit limit;
    limit.rlim_cur = limit.rlim_max = rlim_t{1} << 28;
    if (setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(0);
    std::atomic<int> calls{0};
    ParallelFor(
        5000, 5000,
        [&](size_t) {
          ++calls;
          return absl::OkStatus();
        },
        [](size_t, const absl::Status&) {});
    std::_Exit(calls == 5000 ? 0 : 1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}
#endif

TEST(NumCpusTest, IsAtLeastOne) { EXPECT_GE(NumCpus(), 1); }

}  // namespace
}  // namespace graphnet
