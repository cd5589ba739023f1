#include "graphnet/base/memory.h"

#include <sys/resource.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>

#include "gtest/gtest.h"

namespace graphnet {
namespace {

TEST(AvailableMemoryTest, IsNoMoreThanULimitSays) {
  const int64_t before = AvailableMemoryBytes();
  ASSERT_GT(before, 0);
  rlimit old;
  ASSERT_EQ(getrlimit(RLIMIT_RSS, &old), 0);
  rlimit limit = old;
  limit.rlim_cur = 1 << 20;  // The process already uses more.
  ASSERT_EQ(setrlimit(RLIMIT_RSS, &limit), 0);
  EXPECT_EQ(AvailableMemoryBytes(), 0);
  limit.rlim_cur = rlim_t{1} << 30;
  ASSERT_EQ(setrlimit(RLIMIT_RSS, &limit), 0);
  EXPECT_LT(AvailableMemoryBytes(), int64_t{1} << 30);
  ASSERT_EQ(setrlimit(RLIMIT_RSS, &old), 0);
}

// Files that were read stay in the cache of the group until something else needs the memory. A
// container that has compiled for an hour has almost no memory that is "free".
TEST(ControlGroupTest, FilesInTheCacheGiveWay) {
  const std::filesystem::path root = std::filesystem::path(testing::TempDir()) / "groups";
  std::filesystem::create_directories(root / "memory");
  const auto write = [&](const char* name, const char* text) {
    std::ofstream(root / name) << text;
  };
  constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(ControlGroupBytes(root), kNoLimit);
  write("memory/memory.limit_in_bytes", "1000\n");
  write("memory/memory.usage_in_bytes", "900\n");
  write("memory/memory.stat", "active_file 1\ntotal_inactive_file 500\ntotal_active_file 200\n");
  EXPECT_EQ(ControlGroupBytes(root), 800);
  write("memory.max", "max\n");
  write("memory.current", "900\n");
  EXPECT_EQ(ControlGroupBytes(root), 800);
  write("memory.max", "1000\n");
  EXPECT_EQ(ControlGroupBytes(root), 100);  // without statistics
  write("memory.stat", "anon 300\nactive_file 100\ninactive_file 500\n");
  EXPECT_EQ(ControlGroupBytes(root), 700);
}

}  // namespace
}  // namespace graphnet
