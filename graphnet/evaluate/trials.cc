#include "graphnet/evaluate/trials.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <random>

namespace graphnet {
namespace {

constexpr int kRounds = 1000;

// Returns a percentile of sorted values, of which there must be at least one.
double Percentile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

std::vector<double> Join(const std::vector<std::vector<double>>& blocks) {
  std::vector<double> all;
  for (const std::vector<double>& block : blocks) all.insert(all.end(), block.begin(), block.end());
  return all;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : Percentile(values, 0.5);
}

double Speedup(const std::vector<double>& eager, const std::vector<double>& compiled) {
  const double below = Median(compiled);
  return below > 0 ? Median(eager) / below : 0;
}

}  // namespace

TimeStatistics StatisticsOf(std::vector<double> milliseconds) {
  TimeStatistics statistics;
  if (milliseconds.empty()) return statistics;
  std::sort(milliseconds.begin(), milliseconds.end());
  const auto count = static_cast<double>(milliseconds.size());
  statistics.median = Percentile(milliseconds, 0.5);
  statistics.iqr = Percentile(milliseconds, 0.75) - Percentile(milliseconds, 0.25);
  statistics.mean = std::accumulate(milliseconds.begin(), milliseconds.end(), 0.0) / count;
  double squares = 0;
  for (const double ms : milliseconds) squares += (ms - statistics.mean) * (ms - statistics.mean);
  statistics.std = std::sqrt(squares / count);
  statistics.min = milliseconds.front();
  statistics.max = milliseconds.back();
  return statistics;
}

double FluctuationOf(const std::vector<double>& milliseconds) {
  const TimeStatistics statistics = StatisticsOf(milliseconds);
  return statistics.median > 0 ? statistics.iqr / statistics.median : 0;
}

std::vector<double> PairedTrials::AllEager() const { return Join(eager); }
std::vector<double> PairedTrials::AllCompiled() const { return Join(compiled); }

double PairedTrials::Fluctuation() const {
  return std::max(FluctuationOf(AllEager()), FluctuationOf(AllCompiled()));
}

SpeedupEstimate EstimateSpeedup(const PairedTrials& trials) {
  SpeedupEstimate estimate;
  const size_t blocks = std::min(trials.eager.size(), trials.compiled.size());
  if (blocks == 0) return estimate;
  estimate.speedup = Speedup(trials.AllEager(), trials.AllCompiled());
  std::mt19937_64 random(blocks);
  std::vector<double> speedups;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> eager;
    std::vector<double> compiled;
    for (size_t i = 0; i < blocks; ++i) {
      const size_t block = random() % blocks;
      eager.insert(eager.end(), trials.eager[block].begin(), trials.eager[block].end());
      compiled.insert(compiled.end(), trials.compiled[block].begin(), trials.compiled[block].end());
    }
    speedups.push_back(Speedup(eager, compiled));
  }
  std::sort(speedups.begin(), speedups.end());
  estimate.low = Percentile(speedups, 0.025);
  estimate.high = Percentile(speedups, 0.975);
  return estimate;
}

ByMeasure<PairedTrials> TrialsByMeasure(
    const std::vector<ByMeasure<std::vector<double>>>& eager,
    const std::vector<ByMeasure<std::vector<double>>>& compiled) {
  ByMeasure<PairedTrials> all;
  const auto of = [&all](const std::string& measure) -> PairedTrials& {
    for (auto& [name, trials] : all) {
      if (name == measure) return trials;
    }
    return all.emplace_back(measure, PairedTrials()).second;
  };
  for (const auto& block : eager) {
    for (const auto& [measure, ms] : block) of(measure).eager.push_back(ms);
  }
  for (const auto& block : compiled) {
    for (const auto& [measure, ms] : block) of(measure).compiled.push_back(ms);
  }
  // With a block missing, the others would be paired wrongly.
  for (auto& [measure, trials] : all) {
    if (trials.eager.size() != eager.size()) trials.eager.clear();
    if (trials.compiled.size() != compiled.size()) trials.compiled.clear();
  }
  std::erase_if(all, [](const auto& entry) {
    return entry.second.eager.empty() && entry.second.compiled.empty();
  });
  return all;
}

void AddTimes(const std::string& measure, const PairedTrials& trials, SampleResult* result) {
  if (!trials.eager.empty())
    result->eager_times.emplace_back(measure, StatisticsOf(trials.AllEager()));
  if (!trials.compiled.empty())
    result->compiled_times.emplace_back(measure, StatisticsOf(trials.AllCompiled()));
  const SpeedupEstimate estimate = EstimateSpeedup(trials);
  if (estimate.speedup <= 0) return;
  result->speedups.emplace_back(measure, estimate.speedup);
  // The interval of unsteady times says little about those of another run.
  if (trials.Fluctuation() <= kFluctuation)
    result->intervals.emplace_back(measure, std::pair(estimate.low, estimate.high));
}

}  // namespace graphnet
