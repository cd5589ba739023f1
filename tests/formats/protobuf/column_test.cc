#include "graphnet/formats/protobuf/column.h"

#include <gtest/gtest.h>

#include <vector>

namespace graphnet::proto_internal {
namespace {

Column Make(const std::vector<uint64_t>& values) {
  Column column;
  for (const uint64_t value : values) column.Add(value);
  return column;
}

TEST(ZigZagTest, SmallNumbersOfEitherSignStaySmall) {
  EXPECT_EQ(ZigZag(0), 0u);
  EXPECT_EQ(ZigZag(-1), 1u);
  EXPECT_EQ(ZigZag(1), 2u);
  EXPECT_EQ(ZigZag(INT64_MAX), UINT64_MAX - 1);
  EXPECT_EQ(ZigZag(INT64_MIN), UINT64_MAX);
  for (const int64_t value : {int64_t{0}, int64_t{-1}, int64_t{77}, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(UnZigZag(ZigZag(value)), value);
  }
}

TEST(StreamReaderTest, YieldsZeroPastTheEnd) {
  const Column column = Make({5});
  StreamReader reader(column);
  EXPECT_EQ(reader.Next(), 5u);
  EXPECT_TRUE(reader.ok());
  EXPECT_TRUE(reader.AtEnd());
  EXPECT_EQ(reader.Next(), 0u);
  EXPECT_FALSE(reader.ok());
}

struct RunCase {
  std::vector<uint64_t> values;
  std::vector<uint64_t> stored;
};

TEST(RunsTest, RoundTrip) {
  const RunCase cases[] = {
      {{}, {}},
      {{0}, {}},
      {{0, 0, 0}, {}},
      {{7}, {7}},
      {{7, 7}, {7, 7, 0}},
      {{7, 7, 7}, {7, 7, 1}},
      {{7, 7, 8, 8, 8, 8}, {7, 7, 0, 8, 8, 2}},
      {{1, 2, 1, 2}, {1, 2, 1, 2}},
      {{0, 0, 1}, {0, 0, 0, 1}},
      {{UINT64_MAX, UINT64_MAX}, {UINT64_MAX, UINT64_MAX, 0}},
  };
  for (const RunCase& c : cases) {
    Column column;
    WriteRuns(c.values, &column);
    EXPECT_EQ(std::vector<uint64_t>(column.begin(), column.end()), c.stored);
    RunReader reader(column);
    for (const uint64_t value : c.values) EXPECT_EQ(reader.Next(), value);
    EXPECT_TRUE(reader.Complete());
  }
}

TEST(RunsTest, TheValueAfterARunStandsAlone) {
  const Column column = Make({7, 7, 0, 7, 7, 1});
  RunReader reader(column);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(reader.Next(), 7u);
  EXPECT_TRUE(reader.Complete());
}

TEST(RunsTest, TooFewOrTooManyAreNoticed) {
  for (const auto& stored : std::vector<std::vector<uint64_t>>{{1, 2}, {1, 1, 2}, {1, 2, 3, 4}}) {
    const Column column = Make(stored);
    RunReader reader(column);
    for (int i = 0; i < 3; ++i) reader.Next();
    EXPECT_FALSE(reader.Complete());
  }
  // The count of a run is missing.
  const Column column = Make({1, 1});
  RunReader reader(column);
  reader.Next();
  reader.Next();
  EXPECT_FALSE(reader.Complete());
}

}  // namespace
}  // namespace graphnet::proto_internal
