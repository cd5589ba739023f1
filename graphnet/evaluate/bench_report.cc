#include "graphnet/evaluate/bench_report.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graphnet/base/shell_word.h"

namespace graphnet {
namespace {

// The sums over a backend's samples.
struct Totals {
  std::map<Outcome, size_t> outcomes;
  std::vector<double> speedups;                // of the correct samples, sorted
  std::map<RoundingVerdict, size_t> rounding;  // of the samples with a verdict
  size_t unsteady = 0;

  explicit Totals(const BackendResults& results) {
    for (const auto& [path, sample] : results.samples) {
      ++outcomes[sample.outcome];
      if (sample.rounding.has_value()) ++rounding[*sample.rounding];
      if (sample.outcome == Outcome::kCorrect) speedups.push_back(sample.speedup);
      unsteady += sample.fluctuates ? 1 : 0;
    }
    std::sort(speedups.begin(), speedups.end());
  }
  double MedianSpeedup() const {
    const size_t half = speedups.size() / 2;
    if (speedups.empty()) return 0;
    return speedups.size() % 2 != 0 ? speedups[half] : (speedups[half - 1] + speedups[half]) / 2;
  }
};

}  // namespace

Report ReportOf(const std::vector<BackendResults>& all) {
  const std::vector<Totals> totals(all.begin(), all.end());
  std::map<Outcome, size_t> seen;
  for (const Totals& one : totals) seen.insert(one.outcomes.begin(), one.outcomes.end());
  seen.erase(Outcome::kCorrect);
  Table table = {
      {"backend", "backend"}, {"log"}, {"samples", "samples"}, {"outcomes"}, {"", "correct"}};
  for (const auto& [outcome, count] : seen)
    table.AddColumn({"", std::string(OutcomeName(outcome))});
  const bool has_rounding =
      absl::c_any_of(totals, [](const Totals& one) { return !one.rounding.empty(); });
  if (has_rounding) {
    table.AddColumn({"rounding", ""});
    table.AddColumn({"", "explained"});
    table.AddColumn({"", "not explained"});
  }
  table.AddColumn({"unsteady", "unsteady"});
  table.AddColumn({"median_speedup", "median speedup"});
  std::string logs;
  for (size_t i = 0; i < all.size(); ++i) {
    Json outcomes = Json::Object();
    for (const auto& [outcome, count] : totals[i].outcomes) outcomes[OutcomeName(outcome)] = count;
    const auto count = [&](Outcome outcome) {
      const auto it = totals[i].outcomes.find(outcome);
      return it == totals[i].outcomes.end() ? 0 : it->second;
    };
    std::vector<Cell> row = {all[i].backend, all[i].log, all[i].samples.size(), std::move(outcomes),
                             count(Outcome::kCorrect)};
    for (const auto& [outcome, unused] : seen) row.emplace_back(count(outcome));
    if (has_rounding) {
      Json verdicts = Json::Object();
      size_t explained = 0;
      size_t judged = 0;
      for (const auto& [verdict, count_of] : totals[i].rounding) {
        verdicts[RoundingVerdictName(verdict)] = count_of;
        judged += count_of;
        explained += IsExplained(verdict) ? count_of : 0;
      }
      row.emplace_back(std::move(verdicts));
      row.emplace_back(explained);
      row.emplace_back(judged - explained);
    }
    row.emplace_back(totals[i].unsteady);
    const double speedup = totals[i].MedianSpeedup();
    row.push_back(totals[i].speedups.empty() ? Cell(Json()).As("-")
                                             : Cell(speedup).As(absl::StrFormat("%.3f", speedup)));
    table.Add(std::move(row));
    absl::StrAppend(&logs, " ", ShellWord(all[i].log));
  }
  Report report;
  report.Add("backends", std::move(table));
  report.Say(absl::StrCat("graphnet score", logs));
  return report;
}

}  // namespace graphnet
