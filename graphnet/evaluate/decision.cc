#include "graphnet/evaluate/decision.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/distributions.h"
#include "graphnet/base/status.h"
#include "graphnet/base/tolerance.h"
#include "graphnet/evaluate/speed_summary.h"

namespace graphnet {
namespace {

bool IsRight(const LoggedSample& sample) {
  return sample.IsCorrect(kCustomaryToleranceLevel) && sample.speedup > 0;
}

std::string Samples(size_t count) {
  return absl::StrCat(count, count == 1 ? " sample" : " samples");
}

// Says which of the two compilers with the greatest median speedups is faster.
std::string SpeedText(absl::Span<const Curve> curves, absl::Span<const SpeedSummary> summaries) {
  std::vector<size_t> order(curves.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return summaries[a].median > summaries[b].median; });
  const Log* faster = &curves[order[0]].log;
  const Log* slower = &curves[order[1]].log;
  PairOfSpeeds pair = CompareSpeeds(*faster, *slower);
  if (pair.ratio < 1) {
    std::swap(faster, slower);
    pair = CompareSpeeds(*faster, *slower);
  }
  const std::string first = Printable(faster->name);
  const std::string second = Printable(slower->name);
  if (pair.samples == 0)
    return absl::StrCat("No sample is right with both ", first, " and ", second, ". ");
  const std::string on = absl::StrFormat("On the %s that both get right, ", Samples(pair.samples));
  const std::string interval =
      pair.interval.has_value()
          ? absl::StrFormat(" (95 %%: %.3g to %.3g)", pair.interval->low, pair.interval->high)
          : "";
  if (pair.interval.has_value() && pair.interval->low <= 1) {
    return absl::StrFormat("%s%s and %s are as fast as each other: their ratio is %.3g%s. ", on,
                           first, second, pair.ratio, interval);
  }
  return absl::StrFormat("%s%s is %.3g times as fast as %s%s. ", on, first, pair.ratio, second,
                         interval);
}

// Says what fails with a compiler, and why.
std::string FailureText(const Curve& curve) {
  absl::flat_hash_map<absl::string_view, size_t> outcomes;
  size_t failed = 0;
  for (const LoggedSample& sample : curve.log.samples) {
    const Outcome outcome = sample.At(kCustomaryToleranceLevel);
    // A sample that does not run in eager says nothing of the compiler.
    if (outcome == Outcome::kCorrect || outcome == Outcome::kEagerFail) continue;
    ++failed;
    ++outcomes[OutcomeName(outcome)];
  }
  if (failed == 0) return "";
  std::vector<std::pair<size_t, absl::string_view>> sorted;
  for (const auto& [outcome, count] : outcomes) sorted.emplace_back(count, outcome);
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::string text = absl::StrFormat(" It fails on %s: ", Samples(failed));
  for (size_t i = 0; i < sorted.size(); ++i)
    absl::StrAppend(&text, i == 0 ? "" : ", ", sorted[i].first, " ", sorted[i].second);
  if (curve.causes.empty()) return text + ".";
  const auto most = std::max_element(
      curve.causes.begin(), curve.causes.end(),
      [](const LocatedCause& a, const LocatedCause& b) { return a.samples < b.samples; });
  absl::StrAppendFormat(&text, ", for %d %s, most often %s (%s, %s).", curve.causes.size(),
                        curve.causes.size() == 1 ? "cause" : "causes", Printable(most->operators),
                        Printable(most->failure), Samples(most->samples));
  return text;
}

}  // namespace

PairOfSpeeds CompareSpeeds(const Log& first, const Log& second) {
  absl::flat_hash_map<absl::string_view, double> speedups;
  for (const LoggedSample& sample : second.samples) {
    if (IsRight(sample)) speedups.emplace(sample.path, sample.speedup);
  }
  std::vector<double> logarithms;
  for (const LoggedSample& sample : first.samples) {
    const auto it = speedups.find(sample.path);
    if (it != speedups.end() && IsRight(sample))
      logarithms.push_back(std::log(sample.speedup / it->second));
  }
  PairOfSpeeds made;
  made.samples = logarithms.size();
  if (logarithms.empty()) return made;
  const auto n = static_cast<double>(logarithms.size());
  double mean = 0;
  for (const double value : logarithms) mean += value / n;
  made.ratio = std::exp(mean);
  if (logarithms.size() < 2) return made;
  double squares = 0;
  for (const double value : logarithms) squares += (value - mean) * (value - mean);
  const double half = StudentLimit(0.05, n - 1) * std::sqrt(squares / (n - 1) / n);
  made.interval = Interval{std::exp(mean - half), std::exp(mean + half)};
  return made;
}

std::string DecisionText(absl::Span<const Curve> curves) {
  std::vector<SpeedSummary> summaries;
  for (const Curve& curve : curves) summaries.push_back(Summarize(curve.log.samples));
  std::string text;
  if (curves.size() > 1) text = SpeedText(curves, summaries);
  for (size_t i = 0; i < curves.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : " ", Sentence(Printable(curves[i].log.name), summaries[i]),
                    FailureText(curves[i]));
  }
  return text;
}

}  // namespace graphnet
