#include "graphnet/evaluate/log_change.h"

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "graphnet/evaluate/log_writer.h"
#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"
#include "tests/evaluate/samples.h"

namespace graphnet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

SampleResult Timed(const std::string& path, double speedup, double low, double high) {
  SampleResult sample = MakeSample(path, speedup, -5);
  sample.intervals = {{"gpu", {0.1, 0.2}}, {"e2e", {low, high}}};
  return sample;
}

Log LogOf(const std::vector<SampleResult>& results, const std::string& file) {
  std::string text;
  for (const SampleResult& result : results) text += WriteLog(result);
  absl::StatusOr<Log> log = ParseLog(text, file);
  EXPECT_OK(log);
  return *std::move(log);
}

template <typename Change>
std::vector<std::string> PathsOf(const std::vector<Change>& changes) {
  std::vector<std::string> paths;
  for (const Change& change : changes) paths.push_back(change.path);
  return paths;
}

TEST(LogChangeTest, OnlyWhatIsBeyondTheSpreadOfBothLogsCounts) {
  const Log before = LogOf({Timed("apart", 1, 0.9, 1.1), Timed("touching", 1, 0.9, 1.2),
                            Timed("slow", 2, 1.9, 2.1), Timed("slower", 2, 1.9, 2.1)},
                           "before.log");
  const Log now = LogOf({Timed("apart", 1.3, 1.2, 1.4), Timed("touching", 1.3, 1.2, 1.4),
                         Timed("slow", 1.5, 1.4, 1.6), Timed("slower", 1, 0.9, 1.1)},
                        "now.log");
  const LogChange change = CompareLogs(before, now);
  EXPECT_EQ(change.right_in_both, 4);
  EXPECT_THAT(PathsOf(change.faster), ElementsAre("apart"));
  EXPECT_THAT(PathsOf(change.slower), ElementsAre("slower", "slow"));
  EXPECT_EQ(change.as_fast, 1);
  const Factor& factor = change.faster.at(0).factor;
  EXPECT_NEAR(factor.value, 1.3, 1e-9);
  EXPECT_NEAR(factor.interval.low, 1.2 / 1.1, 1e-9);
  EXPECT_NEAR(factor.interval.high, 1.4 / 0.9, 1e-9);
}

TEST(LogChangeTest, SamplesThatBrokeOrAreMendedHaveNoSpeed) {
  const Log before = LogOf(
      {Timed("a", 1, 0.9, 1.1), MakeFailure("b", Outcome::kCompileFail, "no"),
       MakeFailure("c", Outcome::kCompileFail), MakeSample("d", 1, -4), Timed("gone", 1, 0.9, 1.1)},
      "before.log");
  const Log now = LogOf(
      {MakeFailure("a", Outcome::kRuntimeFail, "crash"), Timed("b", 1, 0.9, 1.1),
       MakeFailure("c", Outcome::kRuntimeFail), Timed("d", 1, 0.9, 1.1), Timed("new", 1, 0.9, 1.1)},
      "now.log");
  const LogChange change = CompareLogs(before, now);
  EXPECT_THAT(PathsOf(change.broke), ElementsAre("a"));
  EXPECT_EQ(change.broke[0].outcome, Outcome::kRuntimeFail);
  EXPECT_EQ(change.broke[0].reason, "crash");
  EXPECT_THAT(PathsOf(change.mended), ElementsAre("b", "d"));
  EXPECT_EQ(change.mended[0].outcome, Outcome::kCompileFail);
  EXPECT_EQ(change.mended[1].outcome, Outcome::kAccuracy);
  EXPECT_THAT(change.only_before, ElementsAre("gone"));
  EXPECT_THAT(change.only_now, ElementsAre("new"));
  EXPECT_EQ(change.in_both, 4);
  EXPECT_EQ(change.overall, std::nullopt);
  EXPECT_FALSE(Passes(change, 0));
}

TEST(LogChangeTest, WithoutASpreadASampleCountsOnlyTogetherWithTheOthers) {
  std::vector<SampleResult> results, halves;
  for (int i = 0; i < 10; ++i) {
    results.push_back(MakeSample(std::to_string(i), 1, -5));
    halves.push_back(MakeSample(std::to_string(i), i % 2 == 0 ? 0.5 : 0.4, -5));
  }
  results[3] = Timed("3", 1, 1, 1);  // a single trial
  const LogChange change = CompareLogs(LogOf(results, "a"), LogOf(halves, "b"));
  EXPECT_EQ(change.without_spread, 10);
  EXPECT_THAT(change.slower, IsEmpty());
  ASSERT_TRUE(change.overall.has_value());
  EXPECT_NEAR(change.overall->value, 0.447214, 1e-5);  // the square root of 0.5 * 0.4
  EXPECT_GE(change.overall->interval.low, 0.4);
  EXPECT_LE(change.overall->interval.high, 0.5);
  EXPECT_TRUE(Passes(change, 0.4));
  EXPECT_FALSE(Passes(change, 0.55));
}

TEST(LogChangeTest, ASampleThatMayBeFastEnoughPasses) {
  const Log before = LogOf({Timed("a", 1, 0.9, 1.1)}, "before.log");
  const LogChange change = CompareLogs(before, LogOf({Timed("a", 0.8, 0.7, 0.9)}, "now.log"));
  // The factor is within [0.7 / 1.1, 0.9 / 0.9], and the only sample is all there is.
  EXPECT_TRUE(Passes(change, 0.99));
  EXPECT_FALSE(Passes(change, 1.01));
  ASSERT_TRUE(change.overall.has_value());
  EXPECT_NEAR(change.overall->interval.low, 0.7 / 1.1, 1e-9);
  EXPECT_NEAR(change.overall->interval.high, 1, 1e-9);
}

TEST(LogChangeTest, TimesVaryLessForManySamplesTogether) {
  std::vector<SampleResult> before, now;
  for (int i = 0; i < 100; ++i) {
    before.push_back(Timed(std::to_string(i), 1, 0.8, 1.25));
    now.push_back(Timed(std::to_string(i), 0.9, 0.72, 1.125));
  }
  const LogChange change = CompareLogs(LogOf(before, "a"), LogOf(now, "b"));
  EXPECT_EQ(change.as_fast, 100);
  // Each factor is within [0.9 / 1.5625, 0.9 * 1.5625], a hundred of them within a tenth of that.
  ASSERT_TRUE(change.overall.has_value());
  EXPECT_NEAR(change.overall->interval.low, 0.9 / std::pow(1.5625, 0.1), 1e-6);
  EXPECT_NEAR(change.overall->interval.high, 0.9 * std::pow(1.5625, 0.1), 1e-6);
  EXPECT_TRUE(Passes(change, 0.94));
  EXPECT_FALSE(Passes(change, 0.95));
}

TEST(LogChangeTest, OneCompiler) {
  SampleResult other = Timed("a", 1, 0.9, 1.1);
  other.config = {{"device", "cpu"}, {"compiler", "jit"}, {"trials", "5"}};
  SampleResult again = other;
  again.config = {{"device", "cpu"}, {"compiler", "jit"}, {"trials", "20"}};
  const Log log = LogOf({Timed("a", 1, 0.9, 1.1)}, "a.log");
  EXPECT_FALSE(AreOfOneCompiler(log, LogOf({other}, "b.log")));
  EXPECT_TRUE(AreOfOneCompiler(LogOf({again}, "a.log"), LogOf({other}, "b.log")));
  EXPECT_THAT(CompareLogs(LogOf({other}, "a.log"), LogOf({again}, "b.log")).other_config,
              ElementsAre("trials: 5, then 20"));
}

}  // namespace
}  // namespace graphnet
