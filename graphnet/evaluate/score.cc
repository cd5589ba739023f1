#include "graphnet/evaluate/score.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace graphnet {
namespace {

constexpr double kCheckTolerance = 1e-3;  // absolute and relative
constexpr int kFrozenLevel = 1;           // ES(t) uses this level from there on

}  // namespace

Contribution::Contribution(const ScoreOptions& options)
    : options_(options), log_b_(std::log(options.b)) {}

double Contribution::OfSpeedup(double speedup) const {
  return std::log(speedup < 1 ? std::pow(speedup, options_.p + 1) : speedup);
}

double Contribution::OfFailure(Outcome outcome, int t) const {
  const size_t error = PenaltyClassOf(options_.interpretation, outcome);
  return t >= PenaltyClasses(options_.interpretation)[error].threshold ? 0 : log_b_;
}

double Contribution::ToS(const LoggedSample& sample, int t) const {
  return sample.IsCorrect(t) ? OfSpeedup(sample.speedup) : log_b_;
}

double Contribution::ToEs(const LoggedSample& sample, int t) const {
  if (t < kFrozenLevel) return ToS(sample, t);
  const Outcome outcome = sample.At(kFrozenLevel);
  return outcome == Outcome::kCorrect ? OfSpeedup(sample.speedup) : OfFailure(outcome, t);
}

double AggregationWeight(int t) {
  constexpr double kSum = 3 * 0.001 + 0.13 + 0.40 + 10 * 0.48;
  if (t > 4) return 0;
  return (t <= -8 ? 0.001 : t == -7 ? 0.13 : t == -6 ? 0.40 : 0.48) / kSum;
}

Scores ComputeScores(absl::Span<const LoggedSample> samples, const ScoreOptions& options) {
  Scores scores;
  const auto n = static_cast<double>(samples.size());
  const Contribution contribution(options);
  const MacroParameters frozen = MacroAt(samples, kFrozenLevel);
  scores.failed = frozen.total - frozen.correct;
  scores.error_shares = ErrorShares(samples, kFrozenLevel, options.interpretation);
  for (int t = kMinToleranceLevel; t <= LastLevel(options.interpretation); ++t) {
    LevelScores& level = scores.levels.emplace_back();
    level.t = t;
    double s = 0;
    double es = 0;
    for (const LoggedSample& sample : samples) {
      s += contribution.ToS(sample, t);
      es += contribution.ToEs(sample, t);
    }
    level.s = std::exp(s / n);
    level.es = std::exp(es / n);
    scores.aggregated += AggregationWeight(t) * es / n / std::log(10);
    level.macro = MacroAt(samples, t);
    level.gamma = Gamma(t, options.b, scores.error_shares, options.interpretation);
    level.macro_s = MacroScore(level.macro, options.p, options.b);
    level.macro_es = MacroScore(t < kFrozenLevel ? level.macro : frozen, options.p, level.gamma);
  }
  return scores;
}

absl::Status CrossCheck(const Scores& scores) {
  std::string wrong;
  for (const LevelScores& level : scores.levels) {
    const auto compare = [&](absl::string_view name, double micro, double macro) {
      const double difference = std::abs(micro - macro);
      if (difference <= kCheckTolerance + kCheckTolerance * std::abs(macro)) return;
      absl::StrAppendFormat(&wrong,
                            "%s %s(%d) is %.6g from the samples and %.6g from the parameters, "
                            "%.3g apart",
                            wrong.empty() ? "" : ";", name, level.t, micro, macro, difference);
    };
    compare("S", level.s, level.macro_s);
    compare("ES", level.es, level.macro_es);
  }
  if (wrong.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("micro and macro disagree:", wrong));
}

double LargestDifference(const Scores& scores) {
  double largest = 0;
  for (const LevelScores& level : scores.levels) {
    largest =
        std::max({largest, std::abs(level.s - level.macro_s), std::abs(level.es - level.macro_es)});
  }
  return largest;
}

std::vector<Influence> MostInfluential(absl::Span<const LoggedSample> samples,
                                       const ScoreOptions& options, const Scores& scores,
                                       size_t most) {
  std::vector<Influence> influences;
  if (samples.size() < 2) return influences;
  const Contribution contribution(options);
  for (size_t i = 0; i < samples.size(); ++i) {
    double own = 0;
    for (const LevelScores& level : scores.levels) {
      const double weight = AggregationWeight(level.t);
      if (weight > 0) own += weight * contribution.ToEs(samples[i], level.t) / std::log(10);
    }
    // Leaving a value out moves a mean by the value's distance from it over the number of the rest.
    influences.push_back({i, (own - scores.aggregated) / static_cast<double>(samples.size() - 1)});
  }
  most = std::min(most, influences.size());
  std::partial_sort(influences.begin(), influences.begin() + static_cast<std::ptrdiff_t>(most),
                    influences.end(), [](const Influence& a, const Influence& b) {
                      const double x = std::abs(a.change);
                      const double y = std::abs(b.change);
                      return x != y ? x > y : a.sample < b.sample;
                    });
  influences.resize(most);
  return influences;
}

}  // namespace graphnet
