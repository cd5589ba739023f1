#include "graphnet/evaluate/score.h"

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/evaluate/bootstrap.h"
#include "graphnet/evaluate/curve.h"
#include "gtest/gtest.h"

namespace graphnet {
namespace {

// Returns a sample that is correct from level `first_right` on; never if it is above
// kMaxToleranceLevel.
LoggedSample Sample(double speedup, int first_right = kMinToleranceLevel) {
  LoggedSample sample;
  sample.path = absl::StrCat(speedup, " from ", first_right);
  sample.speedup = speedup;
  for (int t = first_right; t <= kMaxToleranceLevel; ++t) {
    sample.correct_levels |= static_cast<uint16_t>(1 << (t - kMinToleranceLevel));
  }
  return sample;
}
LoggedSample Failure(Outcome status) {
  LoggedSample sample;
  sample.path = std::string(OutcomeName(status));
  sample.status = status;
  return sample;
}
const int kNever = kMaxToleranceLevel + 1;

// Expects values of ES(t), given as runs: {{-10, 0.1}, {1, 1}} is 0.1 up to t = 0 and 1 from there
// on.
void ExpectEs(const std::vector<LoggedSample>& samples, const ScoreOptions& options,
              const std::map<int, double>& runs, double within = 5e-5) {
  const Scores scores = ComputeScores(samples, options);
  for (const LevelScores& level : scores.levels) {
    const double expected = std::prev(runs.upper_bound(level.t))->second;
    EXPECT_NEAR(level.es, expected, within) << "t = " << level.t;
    EXPECT_NEAR(level.macro_es, level.es, 1e-12) << "t = " << level.t;
    EXPECT_NEAR(level.macro_s, level.s, 1e-12) << "t = " << level.t;
    if (level.t <= 0) {
      EXPECT_EQ(level.s, level.es);
    }
  }
  EXPECT_TRUE(CrossCheck(scores).ok());
}

TEST(ScoreTest, GoldenValues) {
  ExpectEs({Sample(1), Sample(1)}, {}, {{-10, 1}});
  ExpectEs({Sample(1, kNever)}, {}, {{-10, 0.1}, {1, 1}});
  ExpectEs({Failure(Outcome::kEagerFail)}, {}, {{-10, 0.1}, {3, 1}});
  ExpectEs({Failure(Outcome::kRuntimeFail)}, {}, {{-10, 0.1}, {3, 1}});
  ExpectEs({Sample(1), Sample(1), Sample(1), Sample(1), Failure(Outcome::kRuntimeFail)}, {},
           {{-10, 0.6310}, {3, 1}});
  const std::vector<LoggedSample> five = {Sample(2), Sample(0.5), Sample(1.5, -5),
                                          Sample(3, kNever), Failure(Outcome::kEagerFail)};
  ExpectEs(five, {}, {{-10, 0.2512}, {-5, 0.4317}, {1, 0.6843}, {3, 1.0845}});
  ExpectEs(five, {.p = 0.1}, {{-10, 0.2477}, {-5, 0.4258}, {1, 0.6748}, {3, 1.0695}});
}

// Above t = 0, S(t) depends on the samples that are correct at t, ES(t) on those correct at 1.
TEST(ScoreTest, CorrectnessIsFrozenAtOne) {
  const std::vector<LoggedSample> samples = {Sample(2), Sample(4, 2)};
  const Scores scores = ComputeScores(samples, {});
  EXPECT_NEAR(scores.levels[11].s, std::sqrt(2 * 0.1), 1e-12);   // t = 1
  EXPECT_NEAR(scores.levels[12].s, std::sqrt(2 * 4), 1e-12);     // t = 2
  EXPECT_NEAR(scores.levels[12].es, std::sqrt(2 * 1), 1e-12);    // forgiven, not correct
  EXPECT_NEAR(scores.levels[12].macro_es, std::sqrt(2), 1e-12);  // from the parameters at 1
}

TEST(ScoreTest, InterpretationsForgiveAtTheirThresholds) {
  const int kEver = kNeverForgiven;
  const struct {
    Outcome outcome;
    int by_default, extended, report;
  } kRows[] = {{Outcome::kAccuracy, 1, 1, 1},     {Outcome::kNotFinite, 3, 2, 2},
               {Outcome::kTypeMismatch, 3, 2, 2}, {Outcome::kShapeMismatch, 3, 2, 2},
               {Outcome::kRuntimeFail, 3, 3, 2},  {Outcome::kCompileFail, 3, 4, 3},
               {Outcome::kEagerFail, 3, kEver, 2}};
  for (const auto& row : kRows) {
    const LoggedSample failure =
        row.outcome == Outcome::kAccuracy ? Sample(1, kNever) : Failure(row.outcome);
    const std::pair<Interpretation, int> kThresholds[] = {
        {Interpretation::kDefault, row.by_default},
        {Interpretation::kMismatchExtended, row.extended},
        {Interpretation::kReport, row.report}};
    for (const auto& [interpretation, threshold] : kThresholds) {
      SCOPED_TRACE(absl::StrCat(OutcomeName(row.outcome), " ", InterpretationName(interpretation)));
      std::map<int, double> runs = {{-10, 0.1}};
      if (threshold != kEver) runs[threshold] = 1;
      ExpectEs({failure}, {.interpretation = interpretation}, runs);
      runs = {{-10, std::sqrt(0.2)}};
      if (threshold != kEver) runs[threshold] = std::sqrt(2);
      ExpectEs({failure, Sample(2)}, {.interpretation = interpretation}, runs);
    }
  }
  EXPECT_EQ(ComputeScores({Sample(1)}, {}).levels.back().t, 4);
  EXPECT_EQ(ComputeScores({Sample(1)}, {.interpretation = Interpretation::kMismatchExtended})
                .levels.back()
                .t,
            5);
}

// Rows of the table in GraphNet's report, whose values are rounded.
TEST(DerivedScoreTest, SamplesAreRightByTheirVerdicts) {
  std::vector<LoggedSample> samples = {Sample(2), Sample(4), Sample(3, 1), Sample(8),
                                       Failure(Outcome::kCompileFail)};
  EXPECT_FALSE(ScoreDerived(samples, {.b = 0.1}).has_value());
  samples[1].rounding = {RoundingVerdict::kBeyond, "beyond rounding: 20 times", -7};
  samples[2].rounding = {RoundingVerdict::kDecision, "a decision within rounding flips", 2};
  samples[3].rounding = {RoundingVerdict::kBlind, "blind", std::nullopt};
  const auto derived = ScoreDerived(samples, {.b = 0.1});
  ASSERT_TRUE(derived.has_value());
  EXPECT_NEAR(derived->es, std::pow(2 * 0.1 * 3 * 0.1, 1.0 / 4), 1e-12);
  EXPECT_EQ(derived->judged, 3);
  EXPECT_EQ(derived->blind, 1);
  ASSERT_EQ(derived->changes.size(), 2);
  EXPECT_EQ(derived->changes[0].sample, 1);
  EXPECT_FALSE(derived->changes[0].is_right);
  EXPECT_EQ(derived->changes[1].sample, 2);
  EXPECT_TRUE(derived->changes[1].is_right);
}

TEST(MacroTest, RowsOfTheReport) {
  const MacroParameters first = {.alpha = 1.321, .beta = 0.858, .lambda = 0.575, .eta = 0.049};
  EXPECT_NEAR(MacroScore(first, 0.1, 0.1), 0.442, 2e-3);
  const MacroParameters second = {.alpha = 1.278, .beta = 0.878, .lambda = 0.991, .eta = 0.048};
  EXPECT_NEAR(MacroScore(second, 0.1, 0.1), 1.248, 2e-3);
  EXPECT_NEAR(MacroScore(second, 0.1, 1), 1.276, 2e-3);  // ES(3): all failures are forgiven
}

TEST(MacroTest, ParametersOfEachLevel) {
  const std::vector<LoggedSample> samples = {Sample(2), Sample(0.5), Sample(1.5, -5),
                                             Sample(3, kNever), Failure(Outcome::kCompileFail)};
  const MacroParameters strict = MacroAt(samples, -6);
  EXPECT_EQ(strict.correct, 2);
  EXPECT_EQ(strict.slow, 1);
  EXPECT_NEAR(strict.alpha, 1, 1e-12);
  EXPECT_NEAR(strict.beta, 0.5, 1e-12);
  EXPECT_NEAR(strict.lambda, 0.4, 1e-12);
  EXPECT_NEAR(strict.eta, 0.5, 1e-12);
  const MacroParameters lenient = MacroAt(samples, -5);
  EXPECT_EQ(lenient.correct, 3);
  EXPECT_NEAR(lenient.alpha, std::cbrt(1.5), 1e-12);
  EXPECT_NEAR(lenient.eta, 1.0 / 3, 1e-12);
  const std::vector<double> shares = ErrorShares(samples, 1, Interpretation::kDefault);
  EXPECT_EQ(shares, (std::vector<double>{0.5, 0, 0.5}));
  EXPECT_NEAR(Gamma(0, 0.1, shares, Interpretation::kDefault), 0.1, 1e-12);
  EXPECT_NEAR(Gamma(1, 0.1, shares, Interpretation::kDefault), std::sqrt(0.1), 1e-12);
  EXPECT_NEAR(Gamma(2, 0.1, shares, Interpretation::kDefault), std::sqrt(0.1), 1e-12);
  EXPECT_EQ(Gamma(3, 0.1, shares, Interpretation::kDefault), 1);

  const MacroParameters none = MacroAt({}, 0);
  EXPECT_EQ(none.lambda, 1);
  const MacroParameters failed = MacroAt({samples[4]}, 0);
  EXPECT_EQ(failed.alpha, 1);
  EXPECT_EQ(failed.beta, 1);
  EXPECT_EQ(failed.eta, 0);
  EXPECT_EQ(failed.lambda, 0);
}

TEST(CrossCheckTest, NamesEachLevelBeyondTheTolerance) {
  Scores scores = ComputeScores({Sample(2), Sample(1, kNever)}, {});
  EXPECT_LT(LargestDifference(scores), 1e-12);
  LevelScores& level = scores.levels[3];  // t = -7
  level.es = level.macro_es + 0.999e-3 * (1 + level.macro_es);
  EXPECT_TRUE(CrossCheck(scores).ok());
  level.es = level.macro_es + 1.001e-3 * (1 + level.macro_es);
  scores.levels[14].s = 7;
  const absl::Status status = CrossCheck(scores);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(absl::StrContains(status.message(), "ES(-7) is 0.44")) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "S(4) is 7 from the samples and 0.447"))
      << status;
  EXPECT_NEAR(LargestDifference(scores), 7 - std::sqrt(0.2), 1e-12);
  scores.levels[14].s = std::nan("");
  EXPECT_FALSE(CrossCheck(scores).ok());
}

TEST(AggregateTest, IsTheWeightedMeanOfLogarithms) {
  double sum = 0;
  for (int t = kMinToleranceLevel; t <= 4; ++t) sum += AggregationWeight(t);
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_NEAR(AggregationWeight(-10), 0.001 / 5.333, 1e-12);
  EXPECT_NEAR(AggregationWeight(-7), 0.13 / 5.333, 1e-12);
  EXPECT_NEAR(AggregationWeight(4), 0.48 / 5.333, 1e-12);
  EXPECT_EQ(AggregationWeight(5), 0);
  EXPECT_NEAR(ComputeScores({Sample(10)}, {}).aggregated, 1, 1e-12);
  // ES(t) is 0.1 up to t = 2, so all but two of the ten levels of weight 0.48 count.
  EXPECT_NEAR(ComputeScores({Failure(Outcome::kRuntimeFail)}, {}).aggregated,
              -(5.333 - 0.96) / 5.333, 1e-12);
}

// The influence of a sample is the change from leaving it out.
TEST(InfluenceTest, IsTheChangeFromLeavingASampleOut) {
  const std::vector<LoggedSample> samples = {Sample(2), Sample(0.5, -3), Sample(8),
                                             Failure(Outcome::kCompileFail), Sample(1, kNever)};
  const ScoreOptions options = {.p = 0.3};
  const Scores scores = ComputeScores(samples, options);
  const std::vector<Influence> all = MostInfluential(samples, options, scores, 100);
  ASSERT_EQ(all.size(), samples.size());
  for (const Influence& influence : all) {
    std::vector<LoggedSample> rest = samples;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(influence.sample));
    EXPECT_NEAR(influence.change, scores.aggregated - ComputeScores(rest, options).aggregated,
                1e-12);
  }
  for (size_t i = 1; i < all.size(); ++i) {
    EXPECT_GE(std::abs(all[i - 1].change), std::abs(all[i].change));
  }
  EXPECT_EQ(MostInfluential(samples, options, scores, 2).size(), 2);
  EXPECT_TRUE(MostInfluential({samples[0]}, options, scores, 2).empty());
}

TEST(BootstrapTest, IntervalsContainTheScoreAndAreDeterministic) {
  std::vector<LoggedSample> samples;
  for (int i = 0; i < 400; ++i) {
    samples.push_back(i % 5 == 0 ? Failure(Outcome::kRuntimeFail)
                                 : Sample(std::exp2((i % 17 - 8) / 8.0), -i % 8));
  }
  Scores scores = ComputeScores(samples, {});
  AddIntervals(samples, {}, &scores);
  Scores again = ComputeScores(samples, {});
  AddIntervals(samples, {}, &again);
  for (size_t i = 0; i < scores.levels.size(); ++i) {
    const LevelScores& level = scores.levels[i];
    EXPECT_LE(level.es_interval.low, level.es * (1 + 1e-12)) << level.t;
    EXPECT_GE(level.es_interval.high, level.es * (1 - 1e-12)) << level.t;
    if (level.t >= -7) {  // no sample is correct below
      EXPECT_LT(level.es_interval.low, 0.99 * level.es_interval.high) << level.t;
    }
    EXPECT_LE(level.s_interval.low, level.s * (1 + 1e-12)) << level.t;
    EXPECT_EQ(level.es_interval.low, again.levels[i].es_interval.low);
    EXPECT_EQ(level.es_interval.high, again.levels[i].es_interval.high);
  }
  // The interval of a mean of independent values has 1.96 standard errors on either side.
  double mean = 0;
  double squares = 0;
  const Contribution contribution({});
  for (const LoggedSample& sample : samples) {
    const double value = contribution.ToEs(sample, 0);
    mean += value / 400;
    squares += value * value / 400;
  }
  const double error = std::sqrt((squares - mean * mean) / 400);
  const LevelScores& zero = scores.levels[10];
  EXPECT_NEAR(std::log(zero.es_interval.low), mean - 1.96 * error, 0.3 * error);
  EXPECT_NEAR(std::log(zero.es_interval.high), mean + 1.96 * error, 0.3 * error);
  EXPECT_LT(scores.aggregated_interval.low, scores.aggregated);
  EXPECT_GT(scores.aggregated_interval.high, scores.aggregated);
}

TEST(BootstrapTest, OneSampleHasNoSpread) {
  Scores scores = ComputeScores({Sample(2)}, {});
  AddIntervals({Sample(2)}, {}, &scores);
  EXPECT_NEAR(scores.levels[0].es_interval.low, 2, 1e-12);
  EXPECT_NEAR(scores.levels[0].es_interval.high, 2, 1e-12);
}

TEST(BootstrapTest, RoundsFollowTheSamples) {
  EXPECT_EQ(BootstrapRounds(0), 1000);
  EXPECT_EQ(BootstrapRounds(20000), 1000);
  EXPECT_EQ(BootstrapRounds(40000), 500);
  EXPECT_EQ(BootstrapRounds(10'000'000), 200);
}

// Extreme floats stay numbers, and both ways agree.
TEST(ScoreTest, ExtremeSpeedups) {
  for (const double p : {0.0, 1.0, 1e6}) {
    const std::vector<LoggedSample> samples = {Sample(1e300), Sample(1e-300), Sample(5e-324),
                                               Sample(1.7e308)};
    const Scores scores = ComputeScores(samples, {.p = p});
    EXPECT_TRUE(CrossCheck(scores).ok()) << CrossCheck(scores);
    EXPECT_TRUE(std::isfinite(scores.levels[0].es));
  }
}

TEST(CurveTest, ReasonsAreCounted) {
  Log log;
  log.file = "f";
  log.samples = {Failure(Outcome::kRuntimeFail), Failure(Outcome::kRuntimeFail),
                 Failure(Outcome::kRuntimeFail), Sample(1, kNever), Sample(1)};
  log.samples[0].reason = "ValueError: b";
  log.samples[1].reason = log.samples[2].reason = "TypeError: a";
  const auto curve = MakeCurve(log, {});
  ASSERT_TRUE(curve.ok());
  ASSERT_EQ(curve->failures.size(), 2);
  EXPECT_EQ(curve->failures[0].outcome, Outcome::kAccuracy);
  EXPECT_EQ(curve->failures[1].samples, 3);
  EXPECT_EQ(curve->failures[1].reasons[0], (std::pair<std::string, size_t>("TypeError: a", 2)));
}

}  // namespace
}  // namespace graphnet
