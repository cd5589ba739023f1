// Expected values are those of numpy.percentile, numpy.mean and numpy.std.
#include "graphnet/evaluate/trials.h"

#include <cmath>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace graphnet {
namespace {

TEST(TrialsTest, StatisticsMatchNumPy) {
  const TimeStatistics statistics = StatisticsOf({7, 1, 4, 2, 10, 3});
  EXPECT_DOUBLE_EQ(statistics.median, 3.5);
  EXPECT_DOUBLE_EQ(statistics.iqr, 6.25 - 2.25);
  EXPECT_DOUBLE_EQ(statistics.mean, 4.5);
  EXPECT_NEAR(statistics.std, 3.095695936834452, 1e-12);
  EXPECT_EQ(statistics.min, 1);
  EXPECT_EQ(statistics.max, 10);
  EXPECT_DOUBLE_EQ(FluctuationOf({7, 1, 4, 2, 10, 3}), 4 / 3.5);
}

TEST(TrialsTest, OneTimeIsSteadyAndNoTimesAreNan) {
  EXPECT_EQ(FluctuationOf({3}), 0);
  EXPECT_EQ(StatisticsOf({3}).median, 3);
  EXPECT_TRUE(std::isnan(StatisticsOf({}).median));
  EXPECT_EQ(FluctuationOf({}), 0);
  EXPECT_EQ(FluctuationOf({0, 0}), 0);
}

TEST(TrialsTest, TheLessSteadySideCounts) {
  const PairedTrials trials = {.eager = {{1, 1}, {1}}, .compiled = {{1, 2}, {3}}};
  EXPECT_EQ(trials.AllEager(), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(trials.AllCompiled(), (std::vector<double>{1, 2, 3}));
  EXPECT_DOUBLE_EQ(trials.Fluctuation(), 0.5);
}

TEST(TrialsTest, SpeedupIsTheRatioOfMedians) {
  const SpeedupEstimate estimate =
      EstimateSpeedup({.eager = {{4, 6}, {5, 100}}, .compiled = {{2, 2}, {2, 2}}});
  EXPECT_DOUBLE_EQ(estimate.speedup, 5.5 / 2);
  EXPECT_LE(estimate.low, estimate.speedup);
  EXPECT_GE(estimate.high, estimate.speedup);
}

// Blocks are drawn as pairs, so a slowdown of both sides at once does not widen the interval.
TEST(TrialsTest, DriftOfBothSidesDoesNotWidenTheInterval) {
  const PairedTrials trials = {.eager = {{2}, {4}, {8}, {16}}, .compiled = {{1}, {2}, {4}, {8}}};
  const SpeedupEstimate estimate = EstimateSpeedup(trials);
  EXPECT_DOUBLE_EQ(estimate.low, 2);
  EXPECT_DOUBLE_EQ(estimate.high, 2);
}

TEST(TrialsTest, BlocksThatDisagreeWidenTheInterval) {
  const PairedTrials trials = {.eager = {{1}, {2}, {3}, {4}}, .compiled = {{1}, {1}, {1}, {1}}};
  const SpeedupEstimate estimate = EstimateSpeedup(trials);
  EXPECT_DOUBLE_EQ(estimate.speedup, 2.5);
  EXPECT_LT(estimate.low, 2);
  EXPECT_GT(estimate.high, 3);
  // The same trials give the same interval.
  EXPECT_EQ(EstimateSpeedup(trials).low, estimate.low);
}

TEST(TrialsTest, WithoutTimesThereIsNoSpeedup) {
  EXPECT_EQ(EstimateSpeedup({}).speedup, 0);
  EXPECT_EQ(EstimateSpeedup({.eager = {{1}}, .compiled = {}}).speedup, 0);
  EXPECT_EQ(EstimateSpeedup({.eager = {{1}}, .compiled = {{0}}}).speedup, 0);
}

TEST(TrialsTest, BlocksAreJoinedByMeasure) {
  const auto trials =
      TrialsByMeasure({{{"e2e", {4, 5}}, {"gpu", {2, 2}}}, {{"e2e", {4}}, {"gpu", {3}}}},
                      {{{"e2e", {2, 2}}, {"kernel", {1, 1}}}, {{"e2e", {2}}}});
  // One block of the compiled side has no time of kernels, so it has none of that measure at all.
  ASSERT_EQ(trials.size(), 2);
  EXPECT_EQ(trials[0].first, "e2e");
  EXPECT_EQ(trials[0].second.AllEager(), (std::vector<double>{4, 5, 4}));
  EXPECT_EQ(trials[0].second.AllCompiled(), (std::vector<double>{2, 2, 2}));
  EXPECT_EQ(trials[1].first, "gpu");
  EXPECT_EQ(trials[1].second.eager, (std::vector<std::vector<double>>{{2, 2}, {3}}));
  EXPECT_TRUE(trials[1].second.compiled.empty());
}

TEST(TrialsTest, OnlyAMeasureOfBothSidesHasASpeedup) {
  SampleResult result;
  AddTimes("gpu", {.eager = {{4, 4}, {4}}, .compiled = {{2, 2}, {2}}}, &result);
  AddTimes("kernel", {.eager = {}, .compiled = {{1, 1}, {1}}}, &result);
  ASSERT_EQ(result.eager_times.size(), 1);
  EXPECT_EQ(result.eager_times[0].first, "gpu");
  ASSERT_EQ(result.compiled_times.size(), 2);
  EXPECT_EQ(result.compiled_times[1].first, "kernel");
  EXPECT_EQ(result.compiled_times[1].second.median, 1);
  EXPECT_EQ(result.speedups, (ByMeasure<double>{{"gpu", 2}}));
  EXPECT_EQ(result.intervals, (ByMeasure<std::pair<double, double>>{{"gpu", {2, 2}}}));
}

TEST(TrialsTest, TimesThatFluctuateHaveASpeedupWithoutAnInterval) {
  SampleResult result;
  AddTimes("gpu", {.eager = {{1}, {2}, {4}, {8}}, .compiled = {{1}, {1}, {1}, {1}}}, &result);
  EXPECT_EQ(result.speedups, (ByMeasure<double>{{"gpu", 3}}));
  EXPECT_TRUE(result.intervals.empty());
}

}  // namespace
}  // namespace graphnet
