#include "graphnet/base/unique_names.h"

#include <string>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

TEST(UniqueNamesTest, TheFirstFreeNameIsClaimed) {
  UniqueNames names;
  EXPECT_EQ(names.Reserve("x"), "x");
  EXPECT_TRUE(names.Insert("x_2"));
  EXPECT_FALSE(names.Insert("x_2"));
  EXPECT_EQ(names.Reserve("x"), "x_1");
  EXPECT_EQ(names.Reserve("x"), "x_3");
  EXPECT_EQ(names.Reserve("x_2"), "x_2_1");
  EXPECT_TRUE(names.Contains("x_3"));
  EXPECT_FALSE(names.Contains("x_4"));
}

TEST(UniqueNamesTest, NamesThatAreNotAllowedArePassedOver) {
  UniqueNames names;
  const auto allowed = [](absl::string_view name) { return name != "in" && name != "in_1"; };
  EXPECT_EQ(names.Reserve("in", allowed), "in_2");
  EXPECT_FALSE(names.Contains("in"));
}

// Counting from 1 each time, this would take 5 * 10^11 steps.
TEST(UniqueNamesTest, AMillionCollisionsAreCheap) {
  UniqueNames names;
  std::string last;
  for (int i = 0; i <= 1'000'000; ++i) last = names.Reserve("x");
  EXPECT_EQ(last, "x_1000000");
}

}  // namespace
}  // namespace graphnet
