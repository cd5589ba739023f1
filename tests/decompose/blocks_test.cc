#include "graphnet/decompose/blocks.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/decompose/chain_testing.h"

namespace graphnet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Tests on graphs in which each operator takes the value of the one before it.
class BlocksTest : public testing::Test {
 protected:
  // Letters stand for operators; "(" and ")" open and close a region.
  std::vector<Block> Find(const std::string& letters) {
    std::string text = "graph @forward(%x, %w) {\n";
    std::string value = "x";
    skip_ = value;
    int i = 0;
    for (const char c : letters) {
      const std::string name = absl::StrCat("v", i++);
      absl::StrAppend(&text, "  %", name, " = ");
      if (c == '(') {
        absl::StrAppend(&text, "torch.amp.autocast_mode._enter_autocast()\n");
      } else if (c == ')') {
        absl::StrAppend(&text, "torch.amp.autocast_mode._exit_autocast()\n");
      } else if (c == 'w') {
        absl::StrAppend(&text, "torch.matmul(%", value, ", %w)\n");
        value = name;
      } else if (c == 's') {  // A later operator adds to it.
        absl::StrAppend(&text, "torch.abs(%", value, ")\n");
        skip_ = value;
        value = name;
      } else if (c == 't') {
        absl::StrAppend(&text, "operator.add(%", value, ", %", skip_, ")\n");
        value = name;
      } else {
        absl::StrAppend(&text, "op.", std::string(1, c), "(%", value, ")\n");
        value = name;
      }
    }
    sample_ = ParseFragment(absl::StrCat(text, "  return %", value, "\n}\n"));
    const GraphIndex index(*sample_.module->main());
    const Regions regions(index);
    std::vector<Block> blocks = FindBlocks(index, regions);
    cuts_ = BlockCuts(blocks, regions, index.num_operators());
    return blocks;
  }

  std::string skip_;
  Sample sample_;
  std::vector<int64_t> cuts_;
};

TEST_F(BlocksTest, NoneInWhatDoesNotRepeat) {
  EXPECT_THAT(Find("abcdefgh"), IsEmpty());
  EXPECT_THAT(cuts_, IsEmpty());
  EXPECT_THAT(Find(""), IsEmpty());
  EXPECT_THAT(Find("ababab"), testing::SizeIs(0));  // The period is shorter than a block may be.
}

TEST_F(BlocksTest, OneBlockOfThree) {
  const std::vector<Block> blocks = Find("xyabcdeabcdeabcdez");
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].num_operators, 5);
  EXPECT_THAT(blocks[0].starts, ElementsAre(2, 7, 12));
  EXPECT_THAT(cuts_, ElementsAre(2, 7, 12, 17));
}

TEST_F(BlocksTest, TheShortestPeriodCounts) {
  const std::vector<Block> blocks = Find("abcdabcdabcdabcd");
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].num_operators, 4);
  EXPECT_THAT(blocks[0].starts, ElementsAre(0, 4, 8, 12));
  EXPECT_THAT(cuts_, ElementsAre(4, 8, 12));
}

TEST_F(BlocksTest, SeveralBlocks) {
  const std::vector<Block> blocks = Find("abcdabcdxefghiefghiefghi");
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_THAT(blocks[0].starts, ElementsAre(0, 4));
  EXPECT_EQ(blocks[1].num_operators, 5);
  EXPECT_THAT(blocks[1].starts, ElementsAre(9, 14, 19));
}

TEST_F(BlocksTest, AloneElsewhere) {
  const std::vector<Block> blocks = Find("abcdxabcdabcdyabcd");
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_THAT(blocks[0].starts, ElementsAre(0, 5, 9, 14));
}

TEST_F(BlocksTest, BeginsWhereLeastIsHandedOn) {
  // A second value is live from s to t, so a cut between them would have more traffic.
  const std::vector<Block> blocks = Find("bsatbsatbsatb");
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].num_operators, 4);
  EXPECT_THAT(blocks[0].starts, ElementsAre(0, 4, 8));
  const std::vector<Block> later = Find("atbsatbsatbsatb");
  ASSERT_EQ(later.size(), 1u);
  for (const int64_t start : later[0].starts) EXPECT_GE(start % 4, 2) << start;
}

TEST_F(BlocksTest, RegionsStayWhole) {
  const std::vector<Block> blocks = Find("c(ab)c(ab)c(ab)c");
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].num_operators, 5);
  for (const int64_t start : blocks[0].starts)
    EXPECT_TRUE(start % 5 == 0 || start % 5 == 1) << start;
  EXPECT_THAT(Find("(abcdabcd)"), IsEmpty());
}

TEST_F(BlocksTest, ConstantsCount) {
  Sample sample = ParseFragment(R"(
graph @forward(%x) {
  %a = op.a(%x, 1)
  %b = op.b(%a)
  %c = op.c(%b)
  %d = op.d(%c)
  %a2 = op.a(%d, 2)
  %b2 = op.b(%a2)
  %c2 = op.c(%b2)
  %d2 = op.d(%c2)
  return %d2
}
)");
  const GraphIndex index(*sample.module->main());
  EXPECT_THAT(FindBlocks(index, Regions(index)), IsEmpty());
}

}  // namespace
}  // namespace graphnet
