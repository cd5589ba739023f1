#include "graphnet/decompose/balance.h"

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "graphnet/decompose/range_decomposer.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/decompose/chain_testing.h"
#include "tests/ir/text/random_module.h"

namespace graphnet {
namespace {

using testing::ElementsAre;

TEST(ValueBytesTest, ByMeta) {
  const Sample sample = ParseFragment(R"(
symbol s0 = 4
symbol s1

graph @forward(%x) {
  %a = torch.relu(%x) : f32[2, 3]
  %b = torch.relu(%a) : f16[s0, 3]
  %c = torch.relu(%b) : f16[s1]
  %d = torch.chunk(%c, 2) : (f32[2], i64[])
  %e = torch.relu(%x)
  %f = torch.relu(%e) : f32[0, s1]
  return %x
}
)");
  std::vector<std::optional<int64_t>> bytes;
  for (const Node* node : sample.module->main()->nodes()) {
    if (!node->is_output()) bytes.push_back(ValueBytes(*node));
  }
  EXPECT_THAT(bytes, ElementsAre(std::nullopt, 24, 24, std::nullopt, 16, std::nullopt, 0));
}

TEST(CutTrafficTest, CountsWhatIsComputedBeforeAndUsedAfter) {
  const Sample sample = ParseFragment(R"(
attribute w : f32[100]

graph @forward(%x : f32[1000]) {
  %a = torch.relu(%x) : f32[10]
  %w = get_attr w : f32[100]
  %b = torch.relu(%a) : f32[1]
  %c = operator.mul(%b, %w)
  %d = operator.add(%c, %a) : f32[2]
  return (%d, %b)
}
)");
  const std::vector<Traffic> traffic = CutTraffic(GraphIndex(*sample.module->main()));
  EXPECT_THAT(traffic, ElementsAre(Traffic{0, 0}, Traffic{40, 0}, Traffic{44, 0}, Traffic{44, 1},
                                   Traffic{12, 0}));
}

// Tries all ways to choose k - 1 cuts and keeps the least traffic.
void BruteForce(const std::vector<Traffic>& traffic, const Regions& regions, int k, int64_t least,
                int64_t most, int64_t start, Traffic sum, std::optional<Traffic>* best) {
  const auto n = static_cast<int64_t>(traffic.size()) - 1;
  if (k == 1) {
    if (n - start >= least && n - start <= most && (!best->has_value() || sum < **best))
      *best = sum;
    return;
  }
  for (int64_t p = start + least; p <= n && p <= start + most; ++p) {
    if (p == n || regions.OpenAt(p) != nullptr) continue;
    BruteForce(traffic, regions, k - 1, least, most, p, sum + traffic[static_cast<size_t>(p)],
               best);
  }
}

TEST(LeastTrafficCutsTest, AreOptimal) {
  int feasible = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const Sample sample = RandomSample(seed, {.max_nodes = 14});
    const GraphIndex index(*sample.module->main());
    const Regions regions(index);
    std::mt19937_64 random(seed);
    std::vector<Traffic> traffic = CutTraffic(index);
    // There are few sizes, so that many cuts tie.
    for (Traffic& t : traffic) t.bytes = static_cast<int64_t>(random() % 4);
    for (int k = 1; k <= 5; ++k) {
      const auto least = static_cast<int64_t>(1 + random() % 2);
      const auto most = least + static_cast<int64_t>(random() % 8);
      std::optional<Traffic> best;
      BruteForce(traffic, regions, k, least, most, 0, Traffic(), &best);
      const auto cuts = LeastTrafficCuts(traffic, regions, k, least, most);
      ASSERT_EQ(cuts.has_value(), best.has_value());
      if (!cuts.has_value()) continue;
      ++feasible;
      ASSERT_EQ(cuts->size(), static_cast<size_t>(k - 1));
      Traffic sum;
      int64_t start = 0;
      for (const int64_t cut : *cuts) {
        EXPECT_EQ(regions.OpenAt(cut), nullptr);
        EXPECT_GE(cut - start, least);
        EXPECT_LE(cut - start, most);
        sum = sum + traffic[static_cast<size_t>(cut)];
        start = cut;
      }
      EXPECT_EQ(sum, *best);
    }
  }
  EXPECT_GT(feasible, 200);
}

TEST(BalancedCutsTest, PrefersNarrowPlacesOfSimilarSize) {
  // The cut at %b is narrow and near the middle; the one at %z is narrower but far from it.
  const Sample sample = ParseFragment(R"(
graph @forward(%x) {
  %z = torch.relu(%x) : f32[1]
  %a = torch.relu(%z) : f32[100]
  %b = torch.relu(%a) : f32[10]
  %c = torch.relu(%b) : f32[100]
  %d = torch.relu(%c) : f32[100]
  %e = torch.relu(%d) : f32[100]
  %f = torch.relu(%e) : f32[100]
  %g = torch.relu(%f) : f32[100]
  return %g
}
)");
  const GraphIndex index(*sample.module->main());
  const Regions regions(index);
  EXPECT_THAT(*BalancedCuts(index, regions, 2), ElementsAre(3));
  EXPECT_THAT(*BalancedCuts(index, regions, 1), ElementsAre());
  EXPECT_THAT(*BalancedCuts(index, regions, 8), ElementsAre(1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(*BalancedCuts(index, regions, 1000000), ElementsAre(1, 2, 3, 4, 5, 6, 7));
}

TEST(BalancedCutsTest, TakesWhatRegionsLeave) {
  const Sample sample = ParseFragment(R"(
graph @forward(%x) {
  %a = torch.relu(%x)
  %enter = torch.amp.autocast_mode._enter_autocast("cuda", None, False, None)
  %b = torch.relu(%a)
  %c = torch.relu(%b)
  %d = torch.relu(%c)
  %exit = torch.amp.autocast_mode._exit_autocast(%enter)
  return %d
}
)");
  const GraphIndex index(*sample.module->main());
  EXPECT_THAT(*BalancedCuts(index, Regions(index), 3), ElementsAre(1));
}

TEST(BalancedCutsTest, GraphWithoutOperators) {
  const Sample sample = ParseFragment("graph @forward(%x) {\n  return %x\n}\n");
  const GraphIndex index(*sample.module->main());
  EXPECT_THAT(*BalancedCuts(index, Regions(index), 3), ElementsAre());
}

}  // namespace
}  // namespace graphnet
