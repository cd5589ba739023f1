#include "graphnet/corpus/near.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <set>
#include <vector>

#include "tests/base/status_matchers.h"

namespace graphnet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<FeatureList> SpansOf(const std::vector<std::vector<uint64_t>>& lists) {
  return {lists.begin(), lists.end()};
}

TEST(JaccardTest, IsTheShareOfCommonFeatures) {
  EXPECT_EQ(Jaccard({1, 2, 3}, {2, 3, 4}), 0.5);
  EXPECT_EQ(Jaccard({1, 2}, {1, 2}), 1);
  EXPECT_EQ(Jaccard({1}, {2}), 0);
  EXPECT_EQ(Jaccard({}, {}), 0);
}

TEST(PrefixTokensTest, AreTheFirstFeatures) {
  EXPECT_THAT(*PrefixTokens({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 0.9), ElementsAre(1, 2));
  EXPECT_THAT(*PrefixTokens({1, 2, 3, 4}, 0.5), ElementsAre(1, 2, 3));
  EXPECT_THAT(*PrefixTokens({1, 2, 3}, 1), ElementsAre(1));
  EXPECT_THAT(*PrefixTokens({}, 0.9), IsEmpty());
  EXPECT_THAT(PrefixTokens({1}, 0), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(PrefixTokens({1}, 1.5), StatusIs(absl::StatusCode::kInvalidArgument));
}

// Lists of which many are near others, of all sizes.
std::vector<std::vector<uint64_t>> RandomLists(size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<uint64_t>> lists;
  while (lists.size() < count) {
    std::set<uint64_t> features;
    if (!lists.empty() && random() % 4 != 0) {
      const std::vector<uint64_t>& other = lists[random() % lists.size()];
      features.insert(other.begin(), other.end());
      for (size_t change = random() % 6; change > 0 && !features.empty(); --change) {
        if (random() % 2 == 0) {
          features.erase(
              std::next(features.begin(), static_cast<ptrdiff_t>(random() % features.size())));
        } else {
          features.insert(random() % 400);
        }
      }
    } else {
      for (size_t i = random() % 60; i > 0; --i) features.insert(random() % 400);
    }
    lists.emplace_back(features.begin(), features.end());
  }
  return lists;
}

double SlowJaccard(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b) {
  std::vector<uint64_t> both, either;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(either));
  return both.empty() ? 0 : static_cast<double>(both.size()) / static_cast<double>(either.size());
}

TEST(NearPairsTest, AreThoseOfBruteForce) {
  size_t pairs = 0;
  for (const unsigned seed : {1U, 2U, 3U}) {
    const auto lists = RandomLists(120, seed);
    for (const double threshold : {0.05, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0}) {
      const auto found = NearPairs(SpansOf(lists), threshold);
      ASSERT_OK(found);
      size_t at = 0;
      for (size_t a = 0; a < lists.size(); ++a) {
        for (size_t b = a + 1; b < lists.size(); ++b) {
          const double jaccard = SlowJaccard(lists[a], lists[b]);
          if (jaccard < threshold) continue;
          EXPECT_EQ(Jaccard(lists[a], lists[b]), jaccard);
          ASSERT_LT(at, found->size());
          EXPECT_EQ((*found)[at].a, a);
          EXPECT_EQ((*found)[at].b, b);
          EXPECT_EQ((*found)[at].jaccard, jaccard);
          // Any two share a token, so that an index finds one by the tokens of the other.
          const FeatureList x = *PrefixTokens(lists[a], threshold);
          const FeatureList y = *PrefixTokens(lists[b], threshold);
          EXPECT_NE(std::find_first_of(x.begin(), x.end(), y.begin(), y.end()), x.end());
          ++at;
        }
      }
      EXPECT_EQ(at, found->size());
      pairs += at;
    }
  }
  EXPECT_GT(pairs, 3000);
}

TEST(NearPairsTest, TooManyPairsAreAnError) {
  const std::vector<std::vector<uint64_t>> lists(100, {1, 2, 3});
  const auto all = NearPairs(SpansOf(lists), 0.9, /*max_pairs=*/4950);
  ASSERT_OK(all);
  EXPECT_EQ(all->size(), 4950);
  EXPECT_THAT(NearPairs(SpansOf(lists), 0.9, /*max_pairs=*/4949),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("there are more than 4949 pairs that are so much alike")));
}

}  // namespace
}  // namespace graphnet
