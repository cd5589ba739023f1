#include "graphnet/evaluate/curve.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "graphnet/base/status.h"
#include "graphnet/evaluate/bootstrap.h"

namespace graphnet {
namespace {

constexpr size_t kMovers = 10;
constexpr double kLeastChange = 1e-9;  // smaller changes are rounding errors

std::vector<FailureClass> FailuresOf(const std::vector<LoggedSample>& samples) {
  std::vector<FailureClass> classes(kNumOutcomes);
  std::vector<absl::flat_hash_map<std::string, size_t>> reasons(kNumOutcomes);
  for (const LoggedSample& sample : samples) {
    const auto outcome = static_cast<size_t>(sample.Shown(1));
    ++classes[outcome].samples;
    if (!sample.reason.empty()) ++reasons[outcome][sample.reason];
  }
  std::vector<FailureClass> found;
  for (size_t i = 0; i < classes.size(); ++i) {
    if (i == static_cast<size_t>(Outcome::kCorrect) || classes[i].samples == 0) continue;
    FailureClass& made = found.emplace_back(std::move(classes[i]));
    made.outcome = static_cast<Outcome>(i);
    made.reasons.assign(reasons[i].begin(), reasons[i].end());
    std::sort(made.reasons.begin(), made.reasons.end(), [](const auto& a, const auto& b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    made.reasons.resize(std::min(made.reasons.size(), FailureClass::kMaxReasons));
  }
  return found;
}

}  // namespace

std::optional<DerivedScore> ScoreDerived(const std::vector<LoggedSample>& samples,
                                         const ScoreOptions& options) {
  const Contribution contribution(options);
  DerivedScore made;
  double sum = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    const LoggedSample& sample = samples[i];
    const bool is_known = sample.rounding.has_value() && sample.rounding->verdict.has_value();
    const bool was_right = sample.IsCorrect(kCustomaryToleranceLevel);
    bool is_right = was_right;
    if (is_known) {
      ++made.judged;
      const RoundingVerdict verdict = *sample.rounding->verdict;
      if (verdict == RoundingVerdict::kBlind) {
        ++made.blind;
        continue;
      }
      is_right = IsExplained(verdict) && sample.speedup > 0;
      if (is_right != was_right) made.changes.push_back({i, is_right});
    }
    sum += is_right ? contribution.OfSpeedup(sample.speedup) : std::log(options.b);
  }
  if (made.judged == 0) return std::nullopt;
  const size_t counted = samples.size() - made.blind;
  made.es = counted == 0 ? 1 : std::exp(sum / static_cast<double>(counted));
  return made;
}

absl::StatusOr<Curve> MakeCurve(Log log, const ScoreOptions& options) {
  Curve curve;
  curve.log = std::move(log);
  const std::vector<LoggedSample>& samples = curve.log.samples;
  curve.scores = ComputeScores(samples, options);
  RETURN_IF_ERROR(Annotate(CrossCheck(curve.scores), curve.log.file));
  AddIntervals(samples, options, &curve.scores);
  std::vector<LoggedSample> sighted;
  for (const LoggedSample& sample : samples) {
    if (!sample.is_blind) sighted.push_back(sample);
  }
  curve.blind = samples.size() - sighted.size();
  if (curve.blind > 0 && !sighted.empty()) {
    curve.sighted = ComputeScores(sighted, options);
    RETURN_IF_ERROR(Annotate(CrossCheck(*curve.sighted), curve.log.file));
    AddIntervals(sighted, options, &*curve.sighted);
  }
  curve.movers = MostInfluential(samples, options, curve.scores, kMovers);
  std::erase_if(curve.movers, [](const Influence& i) { return std::abs(i.change) < kLeastChange; });
  curve.failures = FailuresOf(samples);
  curve.derived = ScoreDerived(samples, options);
  return curve;
}

}  // namespace graphnet
