#include "graphnet/base/memory.h"

#include <sys/resource.h>

#include <cstdint>

#include "gtest/gtest.h"

namespace graphnet {
namespace {

TEST(AvailableMemoryTest, IsNoMoreThanULimitSays) {
  const int64_t before = AvailableMemoryBytes();
  ASSERT_GT(before, 0);
  rlimit old;
  ASSERT_EQ(getrlimit(RLIMIT_RSS, &old), 0);
  rlimit limit = old;
  limit.rlim_cur = 1 << 20;  // which the process has taken already
  ASSERT_EQ(setrlimit(RLIMIT_RSS, &limit), 0);
  EXPECT_EQ(AvailableMemoryBytes(), 0);
  limit.rlim_cur = rlim_t{1} << 30;
  ASSERT_EQ(setrlimit(RLIMIT_RSS, &limit), 0);
  EXPECT_LT(AvailableMemoryBytes(), int64_t{1} << 30);
  ASSERT_EQ(setrlimit(RLIMIT_RSS, &old), 0);
}

}  // namespace
}  // namespace graphnet
