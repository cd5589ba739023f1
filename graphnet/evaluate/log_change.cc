#include "graphnet/evaluate/log_change.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graphnet/base/status.h"
#include "graphnet/base/tolerance.h"
#include "graphnet/evaluate/bootstrap.h"

namespace graphnet {
namespace {

constexpr size_t kShown = 10;
constexpr size_t kShownBytes = 300;

bool IsRight(const LoggedSample& sample) {
  return sample.IsCorrect(kCustomaryToleranceLevel) && sample.speedup > 0;
}

// The spread of one trial, or of a log without times, says nothing.
bool HasSpread(const LoggedSample& sample) {
  return sample.speedup_low > 0 && sample.speedup_low < sample.speedup_high &&
         std::isfinite(sample.speedup_high);
}

VerdictChange VerdictOf(const LoggedSample& sample) {
  return {sample.path, sample.At(kCustomaryToleranceLevel), sample.reason};
}

const std::string* ValueOf(const Log& log, absl::string_view key) {
  for (const auto& [name, value] : log.config) {
    if (name == key) return &value;
  }
  return nullptr;
}

void AddSpeeds(const LoggedSample& before, const LoggedSample& now, std::vector<double>* logs,
               LogChange* change) {
  ++change->right_in_both;
  SpeedChange speed{now.path, before.speedup, now.speedup, {}};
  speed.factor.value = now.speedup / before.speedup;
  logs->push_back(std::log(speed.factor.value));
  if (!HasSpread(before) || !HasSpread(now)) {
    ++change->without_spread;
    return;
  }
  speed.factor.interval = {now.speedup_low / before.speedup_high,
                           now.speedup_high / before.speedup_low};
  if (speed.factor.interval.low > 1) {
    change->faster.push_back(speed);
  } else if (speed.factor.interval.high < 1) {
    change->slower.push_back(speed);
  } else {
    ++change->as_fast;
  }
  change->speeds.push_back(std::move(speed));
}

std::string FactorText(const Factor& factor) {
  return absl::StrFormat("%.3f [%.3f, %.3f]", factor.value, factor.interval.low,
                         factor.interval.high);
}

// Returns the geometric mean of factors, of which the logarithms are given. Its interval is that of other
// samples, and that of the times of these.
Factor Overall(const std::vector<double>& logs, const std::vector<SpeedChange>& speeds) {
  const auto n = static_cast<double>(logs.size());
  const double mean = absl::c_accumulate(logs, 0.0) / n;
  const Interval samples = MeanInterval(logs);
  double below = (mean - samples.low) * (mean - samples.low);
  double above = (samples.high - mean) * (samples.high - mean);
  for (const SpeedChange& speed : speeds) {
    const double down = std::log(speed.factor.value / speed.factor.interval.low) / n;
    const double up = std::log(speed.factor.interval.high / speed.factor.value) / n;
    below += down * down;
    above += up * up;
  }
  return {std::exp(mean), {std::exp(mean - std::sqrt(below)), std::exp(mean + std::sqrt(above))}};
}

void SayMore(size_t all, Report* report) {
  if (all > kShown) report->Say(absl::StrCat("  and ", all - kShown, " more"));
}

void AddSpeedTable(absl::string_view name, const std::vector<SpeedChange>& changes,
                   Report* report) {
  Table table = {{"path"}, {"speedup_before"}, {"speedup"}, {"change"}, {"change_95"}};
  if (!changes.empty()) report->Say(absl::StrCat(name, " ", changes.size()));
  for (size_t i = 0; i < changes.size(); ++i) {
    const SpeedChange& change = changes[i];
    table.Add(
        {change.path, change.before, change.now, change.factor.value,
         Json::List(std::vector<double>{change.factor.interval.low, change.factor.interval.high})});
    if (i < kShown)
      report->Say(
          absl::StrCat("  ", FactorText(change.factor), "  ", Printable(change.path, kShownBytes)));
  }
  SayMore(changes.size(), report);
  report->Add(name, std::move(table));
}

void AddVerdictTable(absl::string_view name, const std::vector<VerdictChange>& changes,
                     Report* report) {
  Table table = {{"path"}, {"status"}, {"reason"}};
  if (!changes.empty()) report->Say(absl::StrCat(name, " ", changes.size()));
  for (size_t i = 0; i < changes.size(); ++i) {
    const VerdictChange& change = changes[i];
    table.Add({change.path, OutcomeName(change.outcome),
               change.reason.empty() ? Cell() : Cell(change.reason)});
    if (i < kShown)
      report->Say(absl::StrCat("  ", Printable(change.path, kShownBytes), ": ",
                               name == "mended" ? "was " : "", OutcomeName(change.outcome),
                               change.reason.empty() ? "" : ": ",
                               Printable(change.reason, kShownBytes)));
  }
  SayMore(changes.size(), report);
  report->Add(name, std::move(table));
}

void AddPaths(absl::string_view name, absl::string_view title,
              const std::vector<std::string>& paths, Report* report) {
  if (!paths.empty()) report->Say(absl::StrCat(title, " ", paths.size()));
  report->Add(name, Json::List(paths));
}

}  // namespace

LogChange CompareLogs(const Log& before, const Log& now) {
  LogChange change{.before = before.file, .now = now.file};
  for (const auto& [key, value] : before.config) {
    const std::string* const other = ValueOf(now, key);
    if (other != nullptr && *other != value)
      change.other_config.push_back(absl::StrCat(key, ": ", value, ", then ", *other));
  }
  absl::flat_hash_map<absl::string_view, const LoggedSample*> earlier;
  for (const LoggedSample& sample : before.samples) earlier.emplace(sample.path, &sample);
  std::vector<double> logs;
  for (const LoggedSample& sample : now.samples) {
    const auto it = earlier.find(sample.path);
    if (it == earlier.end()) {
      change.only_now.push_back(sample.path);
      continue;
    }
    const LoggedSample& was = *it->second;
    earlier.erase(it);
    ++change.in_both;
    if (IsRight(was) && IsRight(sample)) {
      AddSpeeds(was, sample, &logs, &change);
    } else if (IsRight(was)) {
      change.broke.push_back(VerdictOf(sample));
    } else if (IsRight(sample)) {
      change.mended.push_back(VerdictOf(was));
    }
  }
  for (const LoggedSample& sample : before.samples) {
    if (earlier.contains(sample.path)) change.only_before.push_back(sample.path);
  }
  const auto of = [](const SpeedChange& speed) { return speed.factor.value; };
  absl::c_stable_sort(change.faster, [&](const auto& a, const auto& b) { return of(a) > of(b); });
  absl::c_stable_sort(change.slower, [&](const auto& a, const auto& b) { return of(a) < of(b); });
  if (!logs.empty()) {
    change.overall = Overall(logs, change.speeds);
  }
  return change;
}

bool AreOfOneCompiler(const Log& before, const Log& now) {
  const std::string* const one = ValueOf(before, "compiler");
  const std::string* const other = ValueOf(now, "compiler");
  return one != nullptr && other != nullptr && *one == *other;
}

bool Passes(const LogChange& change, double min_speedup) {
  const auto is_slow = [&](const Factor& factor) { return factor.interval.high < min_speedup; };
  return change.broke.empty() && !(change.overall.has_value() && is_slow(*change.overall)) &&
         absl::c_none_of(change.speeds,
                         [&](const SpeedChange& speed) { return is_slow(speed.factor); });
}

Report ReportOf(const LogChange& change) {
  Report report;
  report.Add("before", change.before);
  report.Add("now", change.now);
  report.Add("in_both", change.in_both);
  report.Add("right_in_both", change.right_in_both);
  report.Say(absl::StrCat(Printable(change.now, kShownBytes), " against ",
                          Printable(change.before, kShownBytes), ": ", change.in_both,
                          " samples in both, ", change.right_in_both, " right in both"));
  for (const std::string& other : change.other_config)
    report.Say(absl::StrCat("  not the same ", Printable(other, kShownBytes)));
  if (change.overall.has_value()) {
    const Interval& interval = change.overall->interval;
    report.Add("speedup", change.overall->value);
    report.Add("speedup_95", Json::List(std::vector<double>{interval.low, interval.high}));
    report.Say(absl::StrCat("speedup now over before ", FactorText(*change.overall)));
  }
  report.Add("as_fast", change.as_fast);
  report.Say(absl::StrCat("as fast ", change.as_fast));
  report.Add("without_spread", change.without_spread);
  if (change.without_spread > 0)
    report.Say(absl::StrCat("without a spread, and so not judged alone ", change.without_spread));
  AddSpeedTable("faster", change.faster, &report);
  AddSpeedTable("slower", change.slower, &report);
  AddVerdictTable("broke", change.broke, &report);
  AddVerdictTable("mended", change.mended, &report);
  AddPaths("only_before", "only before", change.only_before, &report);
  AddPaths("only_now", "only now", change.only_now, &report);
  return report;
}

}  // namespace graphnet
