#include "graphnet/evaluate/speed_summary.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graphnet/evaluate/bootstrap.h"
#include "graphnet/evaluate/sample_result.h"

namespace graphnet {
namespace {

// Returns the interval of the median of sorted values. The true median lies below the k-th smallest value
// only if fewer than k values lie below it, of which each does with a chance of 1/2.
std::optional<Interval> MedianInterval(const std::vector<double>& sorted) {
  const size_t n = sorted.size();
  const auto count = static_cast<double>(n);
  const double outside = (1 - kIntervalCoverage) / 2;
  size_t k = 0;
  for (double below = 0; k < n; ++k) {
    const auto chosen = static_cast<double>(k);
    below += std::exp(std::lgamma(count + 1) - std::lgamma(chosen + 1) -
                      std::lgamma(count - chosen + 1) - count * std::log(2.0));
    if (below > outside) break;
  }
  if (k == 0) return std::nullopt;
  return Interval{sorted[k - 1], sorted[n - k]};
}

}  // namespace

SpeedSummary Summarize(absl::Span<const LoggedSample> samples) {
  SpeedSummary summary;
  summary.samples = samples.size();
  std::vector<double> speedups;
  for (const LoggedSample& sample : samples) {
    if (!sample.IsCorrect(kCustomaryToleranceLevel)) continue;
    speedups.push_back(sample.speedup);
    const bool has_interval = sample.speedup_low > 0 && sample.speedup_low <= sample.speedup_high;
    const double low = has_interval ? sample.speedup_low : sample.speedup;
    const double high = has_interval ? sample.speedup_high : sample.speedup;
    ++(low > 1 ? summary.faster : high < 1 ? summary.slower : summary.as_fast);
  }
  summary.right = speedups.size();
  if (speedups.empty()) return summary;
  std::sort(speedups.begin(), speedups.end());
  const size_t middle = speedups.size() / 2;
  summary.median =
      speedups.size() % 2 == 1 ? speedups[middle] : (speedups[middle - 1] + speedups[middle]) / 2;
  summary.interval = MedianInterval(speedups);
  return summary;
}

std::string Sentence(absl::string_view name, const SpeedSummary& summary) {
  if (summary.right == 0)
    return absl::StrCat(name, " is right on none of ", summary.samples, " samples (t = −5).");
  std::string text = absl::StrFormat(
      "%s is right on %d of %d samples (t = −5), and faster than eager on %d of them, slower on %d "
      "and as "
      "fast on %d; the median speedup is %.3g",
      name, summary.right, summary.samples, summary.faster, summary.slower, summary.as_fast,
      summary.median);
  if (summary.interval.has_value()) {
    absl::StrAppendFormat(&text, " (95 %%: %.3g to %.3g)", summary.interval->low,
                          summary.interval->high);
  }
  return text + ".";
}

}  // namespace graphnet
