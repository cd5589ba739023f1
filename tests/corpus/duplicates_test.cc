#include "graphnet/corpus/duplicates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(FirstOfEqualTest, TheFirstStays) {
  EXPECT_THAT(FirstOfEqual({"a", "b", "a", "c", "b", "a"}), ElementsAre(0, 1, 0, 3, 1, 0));
  EXPECT_THAT(FirstOfEqual({}), IsEmpty());
}

TEST(FirstOfAlikeTest, OnlyTheFirstStaysForAnother) {
  // 0 and 1 share 4 of 6, 1 and 2 share 4 of 6, 0 and 2 only 3 of 7.
  const std::vector<std::vector<uint64_t>> lists = {
      {1, 2, 3, 4, 5}, {2, 3, 4, 5, 6}, {3, 4, 5, 6, 7}, {}, {1, 2, 3, 4, 5}, {}};
  const std::vector<FeatureList> graphs(lists.begin(), lists.end());
  const auto stays = FirstOfAlike(graphs, 0.6);
  ASSERT_THAT(stays, IsOk());
  EXPECT_THAT(*stays, ElementsAre(0, 0, 2, 3, 0, 3));
}

TEST(FirstOfAlikeTest, IsTheChoiceOfComparingEachWithEach) {
  std::mt19937 random(7);
  for (const double threshold : {0.3, 0.5, 0.8, 1.0}) {
    std::vector<std::vector<uint64_t>> lists;
    for (int i = 0; i < 300; ++i) {
      std::set<uint64_t> features;
      const size_t size = 1 + random() % 12;
      while (features.size() < size) features.insert(random() % 16);
      lists.emplace_back(features.begin(), features.end());
    }
    const std::vector<FeatureList> graphs(lists.begin(), lists.end());
    std::vector<size_t> wanted;
    for (size_t i = 0; i < lists.size(); ++i) {
      size_t stays = i;
      for (size_t j = 0; j < i && stays == i; ++j) {
        std::vector<uint64_t> both;
        std::set_intersection(lists[i].begin(), lists[i].end(), lists[j].begin(), lists[j].end(),
                              std::back_inserter(both));
        const double either = static_cast<double>(lists[i].size() + lists[j].size() - both.size());
        if (wanted[j] == j && static_cast<double>(both.size()) / either >= threshold) stays = j;
      }
      wanted.push_back(stays);
    }
    const auto stays = FirstOfAlike(graphs, threshold);
    ASSERT_THAT(stays, IsOk());
    EXPECT_EQ(*stays, wanted) << threshold;
  }
}

}  // namespace
}  // namespace graphnet
