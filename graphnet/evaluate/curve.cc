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
  return curve;
}

}  // namespace graphnet
