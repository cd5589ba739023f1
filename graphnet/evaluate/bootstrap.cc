#include "graphnet/evaluate/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace graphnet {
namespace {

constexpr uint64_t kSeed = 20250827;
constexpr double kMostDraws = 2e7;

// Samples that are correct at the same levels and fail in the same way: only their speedups differ.
struct Group {
  std::vector<double> s;  // a sample's term at each level; nan: the logarithm of its speedup
  std::vector<double> es;
};

// Returns a quantile of sorted values, interpolated between two of them.
double Quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = at - static_cast<double>(below);
  // Avoid the difference of two infinities.
  return part == 0 ? sorted[below] : sorted[below] * (1 - part) + sorted[above] * part;
}

Interval IntervalOf(std::vector<double>* values) {
  std::sort(values->begin(), values->end());
  const double outside = (1 - kIntervalCoverage) / 2;
  return {Quantile(*values, outside), Quantile(*values, 1 - outside)};
}

// Draws a number below `n`.
size_t DrawBelow(size_t n, std::mt19937_64* random) {
  return static_cast<size_t>((static_cast<unsigned __int128>((*random)()) * n) >> 64);
}

class Bootstrap {
 public:
  Bootstrap(absl::Span<const LoggedSample> samples, const ScoreOptions& options, Scores* scores)
      : scores_(*scores), n_(samples.size()) {
    const Contribution contribution(options);
    absl::flat_hash_map<uint32_t, uint32_t> known;
    for (const LoggedSample& sample : samples) {
      const Outcome outcome = sample.At(1);
      const uint32_t key =
          sample.correct_levels | static_cast<uint32_t>(static_cast<int>(outcome) << 16);
      const auto [it, is_new] = known.try_emplace(key, static_cast<uint32_t>(groups_.size()));
      if (is_new) AddGroup(sample, contribution);
      group_of_.push_back(it->second);
      speedup_of_.push_back(sample.correct_levels != 0 ? contribution.OfSpeedup(sample.speedup)
                                                       : 0);
    }
  }

  void Run() {
    const int rounds = BootstrapRounds(n_);
    const size_t levels = scores_.levels.size();
    std::vector<std::vector<double>> s(levels);
    std::vector<std::vector<double>> es(levels);
    std::vector<double> aggregated;
    std::mt19937_64 random(kSeed);
    std::vector<double> counts;
    std::vector<double> sums;
    for (int round = 0; round < rounds; ++round) {
      counts.assign(groups_.size(), 0);
      sums.assign(groups_.size(), 0);
      for (size_t i = 0; i < n_; ++i) {
        const size_t drawn = DrawBelow(n_, &random);
        ++counts[group_of_[drawn]];
        sums[group_of_[drawn]] += speedup_of_[drawn];
      }
      double score = 0;
      for (size_t k = 0; k < levels; ++k) {
        const double log_s = Mean(&Group::s, k, counts, sums);
        const double log_es = Mean(&Group::es, k, counts, sums);
        s[k].push_back(std::exp(log_s));
        es[k].push_back(std::exp(log_es));
        const double weight = AggregationWeight(scores_.levels[k].t);
        if (weight > 0) score += weight * log_es / std::log(10);
      }
      aggregated.push_back(score);
    }
    for (size_t k = 0; k < levels; ++k) {
      scores_.levels[k].s_interval = IntervalOf(&s[k]);
      scores_.levels[k].es_interval = IntervalOf(&es[k]);
    }
    scores_.aggregated_interval = IntervalOf(&aggregated);
  }

 private:
  void AddGroup(const LoggedSample& sample, const Contribution& contribution) {
    const double speedup = std::nan("");
    Group& group = groups_.emplace_back();
    const bool is_right = sample.IsCorrect(1);
    for (const LevelScores& level : scores_.levels) {
      group.s.push_back(sample.IsCorrect(level.t) ? speedup : contribution.ToS(sample, level.t));
      const bool counts = level.t < 1 ? sample.IsCorrect(level.t) : is_right;
      group.es.push_back(counts ? speedup : contribution.ToEs(sample, level.t));
    }
  }

  double Mean(std::vector<double> Group::*what, size_t level, const std::vector<double>& counts,
              const std::vector<double>& sums) const {
    double sum = 0;
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (counts[g] == 0) continue;
      const double each = (groups_[g].*what)[level];
      sum += std::isnan(each) ? sums[g] : counts[g] * each;
    }
    return sum / static_cast<double>(n_);
  }

  Scores& scores_;
  size_t n_;
  std::vector<Group> groups_;
  std::vector<uint32_t> group_of_;  // of each sample
  std::vector<double> speedup_of_;  // its term where it is correct
};

}  // namespace

int BootstrapRounds(size_t samples) {
  return static_cast<int>(
      std::clamp(kMostDraws / static_cast<double>(std::max<size_t>(samples, 1)), 200.0, 1000.0));
}

void AddIntervals(absl::Span<const LoggedSample> samples, const ScoreOptions& options,
                  Scores* scores) {
  Bootstrap(samples, options, scores).Run();
}

Interval MeanInterval(absl::Span<const double> values) {
  std::mt19937_64 random(kSeed);
  std::vector<double> means;
  const int rounds = BootstrapRounds(values.size());
  for (int round = 0; round < rounds; ++round) {
    double sum = 0;
    for (size_t i = 0; i < values.size(); ++i) sum += values[DrawBelow(values.size(), &random)];
    means.push_back(sum / static_cast<double>(values.size()));
  }
  return IntervalOf(&means);
}

}  // namespace graphnet
