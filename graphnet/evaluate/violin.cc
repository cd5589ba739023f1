#include "graphnet/evaluate/violin.h"

#include <algorithm>
#include <cmath>

namespace graphnet {
namespace {

constexpr size_t kBins = 160;
constexpr double kMinBandwidthBins = 1.5;

double QuantileOf(absl::Span<const double> sorted, double q) {
  return sorted[static_cast<size_t>(std::lround(q * static_cast<double>(sorted.size() - 1)))];
}

}  // namespace

std::vector<double> LogSpeedups(absl::Span<const LoggedSample> samples) {
  std::vector<double> logs;
  for (const LoggedSample& sample : samples) {
    if (sample.correct_levels != 0) logs.push_back(std::log2(sample.speedup));
  }
  std::sort(logs.begin(), logs.end());
  return logs;
}

Violin MakeViolin(absl::Span<const double> logs, double from, double to) {
  Violin violin;
  violin.samples = logs.size();
  if (logs.empty()) return violin;
  violin.low = QuantileOf(logs, 0.25);
  violin.median = QuantileOf(logs, 0.5);
  violin.high = QuantileOf(logs, 0.75);

  // Bins stand for samples, which looks the same and is as fast with a million samples.
  const double bin = (to - from) / static_cast<double>(kBins - 1);
  std::vector<double> counts(kBins);
  double mean = 0;
  for (const double log : logs) mean += log / static_cast<double>(logs.size());
  double variance = 0;
  for (const double log : logs) {
    variance += (log - mean) * (log - mean) / static_cast<double>(logs.size());
    const double at = std::clamp((log - from) / bin, 0.0, static_cast<double>(kBins - 1));
    ++counts[static_cast<size_t>(std::lround(at))];
  }
  // Silverman's rule.
  const double spread = std::min(std::sqrt(variance), (violin.high - violin.low) / 1.34);
  const double rule = 0.9 * spread * std::pow(static_cast<double>(logs.size()), -0.2);
  const double bandwidth = std::max(rule / bin, kMinBandwidthBins);
  violin.widths.assign(kBins, 0);
  for (size_t i = 0; i < kBins; ++i) {
    if (counts[i] == 0) continue;
    for (size_t k = 0; k < kBins; ++k) {
      const double distance = (static_cast<double>(i) - static_cast<double>(k)) / bandwidth;
      violin.widths[k] += counts[i] * std::exp(-distance * distance / 2);
    }
  }
  const double widest = *std::max_element(violin.widths.begin(), violin.widths.end());
  for (double& width : violin.widths) width /= widest;
  return violin;
}

}  // namespace graphnet
