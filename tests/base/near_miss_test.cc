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

TEST(NearMissTest, AnAbbreviation) {
  EXPECT_EQ(NearMiss("0.attn", {"m.0", "m.0.attention", "m.1.attention"}), "m.0.attention");
  EXPECT_EQ(NearMiss("1.attn", {"m.0.attention", "m.11.attention"}), "");
  EXPECT_EQ(NearMiss("attn", {"retention", "attribute"}), "");
  EXPECT_EQ(NearMiss("0.a", {"m.0.attention"}), "");
  EXPECT_EQ(NearMiss("m.0.attn", {"0.attention"}), "");
  EXPECT_EQ(NearMiss("..attn", {"m..attention"}), "");
}

TEST(NearMissTest, TheEndOfALongerName) {
  EXPECT_EQ(NearMiss("layer.10", {"m.head", "m.layer.10", "n.layer.10"}), "m.layer.10");
  EXPECT_EQ(NearMiss("ayer.10", {"m.long.layer.10"}), "");
  EXPECT_EQ(NearMiss("", {"m."}), "");
}

}  // namespace
}  // namespace graphnet
