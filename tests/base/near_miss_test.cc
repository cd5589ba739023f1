#include "graphnet/base/near_miss.h"

#include <gtest/gtest.h>

namespace graphnet {
namespace {

TEST(NearMissTest, EditsCountOnce) {
  EXPECT_EQ(EditDistance("show", "show", 3), 0);
  EXPECT_EQ(EditDistance("show", "shw", 3), 1);
  EXPECT_EQ(EditDistance("show", "shoow", 3), 1);
  EXPECT_EQ(EditDistance("show", "shew", 3), 1);
  EXPECT_EQ(EditDistance("show", "shwo", 3), 1);
  EXPECT_EQ(EditDistance("kitten", "sitting", 5), 3);
  EXPECT_EQ(EditDistance("", "abc", 5), 3);
  EXPECT_EQ(EditDistance("abcdef", "x", 2), 3);
}

TEST(NearMissTest, TheNearestOrNone) {
  EXPECT_EQ(NearMiss("shwo", {"show", "stats"}), "show");
  EXPECT_EQ(NearMiss("xyz", {"show", "stats"}), "");
  EXPECT_EQ(NearMissHint("shwo", {"show", "stats"}), "; did you mean show?");
  EXPECT_EQ(NearMissHint("xyz", {"show"}), "");
}

TEST(NearMissTest, TheEndOfALongerName) {
  EXPECT_EQ(NearMiss("layer.10", {"m.head", "m.layer.10", "n.layer.10"}), "m.layer.10");
  EXPECT_EQ(NearMiss("ayer.10", {"m.long.layer.10"}), "");
  EXPECT_EQ(NearMiss("", {"m."}), "");
}

}  // namespace
}  // namespace graphnet
