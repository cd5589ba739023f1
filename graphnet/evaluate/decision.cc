#include "graphnet/evaluate/decision.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/status.h"
#include "graphnet/base/tolerance.h"
#include "graphnet/evaluate/speed_summary.h"

namespace graphnet {
namespace {

// The two-sided 95 % limit of Student's distribution, by its expansion about the normal one.
double StudentLimit95(double degrees) {
  constexpr double kZ = 1.959964;
  constexpr double kZ3 = kZ * kZ * kZ;
  constexpr double kZ5 = kZ3 * kZ * kZ;
  constexpr double kZ7 = kZ5 * kZ * kZ;
  return kZ + (kZ3 + kZ) / (4 * degrees) +
         (5 * kZ5 + 16 * kZ3 + 3 * kZ) / (96 * degrees * degrees) +
         (3 * kZ7 + 19 * kZ5 + 17 * kZ3 - 15 * kZ) / (384 * degrees * degrees * degrees);
}

bool IsRight(const LoggedSample& sample) {
  return sample.IsCorrect(kCustomaryToleranceLevel) && sample.speedup > 0;
}

std::string Samples(size_t count) {
  return absl::StrCat(count, count == 1 ? " sample" : " samples");
}

// Says which of the two fastest compilers is faster.
std::string SpeedText(absl::Span<const Curve> curves) {
  std::vector<const Curve*> sorted;
  for (const Curve& curve : curves) sorted.push_back(&curve);
  // The fastest is the one that the others do not beat on what both get right.
  std::stable_sort(sorted.begin(), sorted.end(), [](const Curve* a, const Curve* b) {
    return Summarize(a->log.samples).median > Summarize(b->log.samples).median;
  });
  const PairOfSpeeds pair = CompareSpeeds(sorted[0]->log, sorted[1]->log);
  const std::string first = Printable(sorted[0]->log.name);
  const std::string second = Printable(sorted[1]->log.name);
  if (pair.samples == 0)
    return absl::StrCat("No sample is right with both ", first, " and ", second, ". ");
  const bool is_faster = pair.ratio >= 1;
  const double ratio = is_faster ? pair.ratio : 1 / pair.ratio;
  const std::string on = absl::StrFormat("On the %s that both get right, ", Samples(pair.samples));
  if (!pair.interval.has_value()) {
    return absl::StrFormat("%s%s is %.3g times as fast as %s. ", on, is_faster ? first : second,
                           ratio, is_faster ? second : first);
  }
  const Interval between =
      is_faster ? *pair.interval : Interval{1 / pair.interval->high, 1 / pair.interval->low};
  if (between.low <= 1) {
    return absl::StrFormat(
        "%s%s and %s are as fast as each other: their ratio is %.3g "
        "(95 %%: %.3g to %.3g). ",
        on, is_faster ? first : second, is_faster ? second : first, ratio, between.low,
        between.high);
  }
  return absl::StrFormat("%s%s is %.3g times as fast as %s (95 %%: %.3g to %.3g). ", on,
                         is_faster ? first : second, ratio, is_faster ? second : first, between.low,
                         between.high);
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
  const double half = StudentLimit95(n - 1) * std::sqrt(squares / (n - 1) / n);
  made.interval = Interval{std::exp(mean - half), std::exp(mean + half)};
  return made;
}

std::string DecisionText(absl::Span<const Curve> curves) {
  std::string text;
  if (curves.size() > 1) text = SpeedText(curves);
  for (const Curve& curve : curves) {
    absl::StrAppend(&text, &curve == curves.data() ? "" : " ",
                    Sentence(Printable(curve.log.name), Summarize(curve.log.samples)),
                    FailureText(curve));
  }
  return text;
}

}  // namespace graphnet
