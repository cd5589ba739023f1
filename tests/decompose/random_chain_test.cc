// Cuts random modules at random positions; the pieces must verify and compose back exactly.

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "graphnet/decompose/range_decomposer.h"
#include "graphnet/decompose/regions.h"
#include "graphnet/ir/text/printer.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/decompose/chain_testing.h"
#include "tests/ir/text/random_module.h"

namespace graphnet {
namespace {

constexpr uint64_t kSeeds = 600;

void CutAndCompose(const Sample& sample, const std::vector<int64_t>& cuts) {
  const auto pieces = DecomposeChain(sample, cuts);
  ASSERT_OK(pieces);
  ExpectComposesTo(*pieces, sample);
  int64_t operators = 0;
  for (const Sample& piece : *pieces) operators += NumOperators(*piece.module->main());
  EXPECT_EQ(operators, NumOperators(*sample.module->main()));
}

TEST(RandomChainTest, RandomCuts) {
  for (uint64_t seed = 0; seed < kSeeds && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Sample sample = RandomSample(seed);
    const auto n = static_cast<uint64_t>(NumOperators(*sample.module->main()));
    std::mt19937_64 random(seed);
    std::vector<int64_t> cuts;
    for (uint64_t i = random() % 6; i > 0; --i)
      cuts.push_back(static_cast<int64_t>(random() % (n + 1)));
    // Random metas make some values tuples, which must not be cut.
    const Regions regions(*sample.module->main());
    for (int64_t& cut : cuts) cut = regions.NextCut(cut);
    std::sort(cuts.begin(), cuts.end());
    CutAndCompose(sample, cuts);
    if (HasFailure()) ADD_FAILURE() << PrintModule(*sample.module);
  }
}

TEST(RandomChainTest, OneOperatorAPiece) {
  for (uint64_t seed = 0; seed < kSeeds / 3 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Sample sample = RandomSample(seed, {.any_bytes = false});
    const auto n = static_cast<int>(NumOperators(*sample.module->main()));
    CutAndCompose(sample, EqualCuts(*sample.module->main(), std::max(n, 1)));
  }
}

TEST(RandomChainTest, LargeGraphs) {
  const Sample sample = RandomSample(7, {.max_graphs = 3, .max_nodes = 2000});
  for (const int k : {1, 2, 7, 50}) CutAndCompose(sample, EqualCuts(*sample.module->main(), k));
}

}  // namespace
}  // namespace graphnet
