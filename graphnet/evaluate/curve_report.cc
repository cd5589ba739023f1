#include "graphnet/evaluate/curve_report.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/status.h"

namespace graphnet {
namespace {

constexpr size_t kShownMovers = 5;
constexpr size_t kShownReasons = 3;
constexpr size_t kShownBytes = 100;

std::string Figure(double value) { return absl::StrFormat("%.4f", value); }

std::string Bracketed(const Interval& interval) {
  return absl::StrFormat("[%.4f, %.4f]", interval.low, interval.high);
}

// Returns "accuracy 0.5 (from t = 1)".
std::string ShareText(const PenaltyClass& error, double share) {
  return absl::StrFormat(
      "%s %.3f (%s)", error.name, share,
      error.threshold == kNeverForgiven ? "never" : absl::StrCat("t >= ", error.threshold));
}

Cell FigureCell(double value) { return Cell(value).As(Figure(value)); }

Json IntervalJson(const Interval& interval) {
  return Json::List(std::vector<double>{interval.low, interval.high});
}

// Adds the scores at each t, and the text of all as a table.
void AddLevels(const Curve& curve, Report* report) {
  const bool has_sighted = curve.sighted.has_value();
  Table shown = {{"", "t"},    {"", "S(t)"},    {"", "95 %"},   {"", "ES(t)"},
                 {"", "95 %"}, {"", "correct"}, {"", "slower"}, {"", "alpha"},
                 {"", "beta"}, {"", "lambda"},  {"", "eta"},    {"", "gamma"}};
  if (has_sighted) {
    shown.AddColumn({"", "S sighted"});
    shown.AddColumn({"", "ES sighted"});
  }
  Report s, es, macros, s_intervals, es_intervals;
  for (const LevelScores& level : curve.scores.levels) {
    const std::string t = absl::StrCat(level.t);
    const MacroParameters& m = level.macro;
    s.Add(t, level.s);
    es.Add(t, level.es);
    Report macro;
    macro.Add("correct", m.correct);
    macro.Add("slow", m.slow);
    std::vector<Cell> row = {level.t,
                             FigureCell(level.s),
                             Cell(0).As(Bracketed(level.s_interval)),
                             FigureCell(level.es),
                             Cell(0).As(Bracketed(level.es_interval)),
                             m.correct,
                             m.slow};
    for (const auto& [name, value] :
         {std::pair{"alpha", m.alpha}, std::pair{"beta", m.beta}, std::pair{"lambda", m.lambda},
          std::pair{"eta", m.eta}, std::pair{"gamma", level.gamma}}) {
      macro.Add(name, value);
      row.push_back(FigureCell(value));
    }
    macro.Add("S", level.macro_s);
    macro.Add("ES", level.macro_es);
    macros.Add(t, std::move(macro));
    s_intervals.Add(t, IntervalJson(level.s_interval));
    es_intervals.Add(t, IntervalJson(level.es_interval));
    if (has_sighted) {
      const LevelScores& sighted =
          curve.sighted->levels[static_cast<size_t>(&level - curve.scores.levels.data())];
      row.insert(row.end(), {FigureCell(sighted.s), FigureCell(sighted.es)});
    }
    shown.Add(std::move(row));
  }
  report->Add("S", std::move(s));
  report->Add("ES", std::move(es));
  report->Add("macro", std::move(macros));
  Report intervals;
  intervals.Add("S", std::move(s_intervals));
  intervals.Add("ES", std::move(es_intervals));
  intervals.Add("aggregated_score", IntervalJson(curve.scores.aggregated_interval));
  report->Add("intervals", std::move(intervals));
  report->Add("", std::move(shown));
}

Report SightedReport(const Scores& scores) {
  Report s, es, report;
  for (const LevelScores& level : scores.levels) {
    s.Add(absl::StrCat(level.t), level.s);
    es.Add(absl::StrCat(level.t), level.es);
  }
  report.Add("S", std::move(s));
  report.Add("ES", std::move(es));
  report.Add("aggregated_score", scores.aggregated);
  report.Say(absl::StrCat("aggregated score without blind samples ", Figure(scores.aggregated), " ",
                          Bracketed(scores.aggregated_interval)));
  return report;
}

// Reports the score by derived tolerances, and which samples it calls otherwise.
Report DerivedReport(const DerivedScore& derived, const std::vector<LoggedSample>& samples) {
  Report report;
  report.Add("ES", derived.es);
  report.Add("judged", derived.judged);
  report.Add("blind", derived.blind);
  report.Say(absl::StrCat(
      "ES(derived) ", Figure(derived.es), ": of ", derived.judged,
      " samples, rounding says whether they are right",
      derived.blind == 0 ? ""
                         : absl::StrCat("; ", derived.blind, " prove nothing and do not count"),
      "; ", derived.changes.size(), " are otherwise than at t = ", kCustomaryToleranceLevel));
  Table changes = {{"path"}, {"line"}, {"right"}, {"t"}, {"why"}};
  for (size_t i = 0; i < derived.changes.size(); ++i) {
    const LoggedSample& sample = samples[derived.changes[i].sample];
    const SampleRounding& rounding = *sample.rounding;
    changes.Add({sample.path, sample.line, derived.changes[i].is_right,
                 rounding.level.has_value() ? Cell(*rounding.level) : Cell(), rounding.text});
    if (i >= kShownMovers) continue;
    report.Say(absl::StrCat("  ", derived.changes[i].is_right ? "right" : "wrong", "  ",
                            Printable(sample.path, kShownBytes), ", ", DescribeRounding(rounding)));
  }
  report.Add("changes", std::move(changes));
  return report;
}

}  // namespace

Report ReportOf(const Curve& curve, const ScoreOptions& options) {
  const Scores& scores = curve.scores;
  const std::vector<LoggedSample>& samples = curve.log.samples;
  Report report;
  report.Add("curve", curve.log.name);
  report.Add("file", curve.log.file);
  report.Add("p", options.p);
  report.Add("b", options.b);
  report.Add("interpretation", InterpretationName(options.interpretation));
  const bool by_device = curve.log.clock != kEndToEnd;
  if (by_device) report.Add("measure", curve.log.clock);
  report.Add("samples", samples.size());
  report.Say(absl::StrFormat(
      "%s: %d %s; p = %g, b = %g, interpretation %s%s", Printable(curve.log.name), samples.size(),
      samples.size() == 1 ? "sample" : "samples", options.p, options.b,
      InterpretationName(options.interpretation), by_device ? ", measure " + curve.log.clock : ""));
  if (curve.blind > 0) {
    report.Say(absl::StrCat(
        curve.blind, " of ", samples.size(), " samples are blind: a wrong answer would have passed",
        " at t = ", kCustomaryToleranceLevel,
        curve.sighted.has_value() ? "; the columns \"sighted\" leave them out" : ""));
  }
  AddLevels(curve, &report);
  Report pi, thresholds;
  std::vector<std::string> shares;
  for (size_t c = 0; c < scores.error_shares.size(); ++c) {
    const PenaltyClass& error = PenaltyClasses(options.interpretation)[c];
    pi.Add(error.name, scores.error_shares[c]);
    thresholds.Add(error.name,
                   error.threshold == kNeverForgiven ? Cell(Json()) : Cell(error.threshold));
    shares.push_back(ShareText(error, scores.error_shares[c]));
  }
  report.Add("pi", std::move(pi));
  report.Add("thresholds", std::move(thresholds));
  report.Add("aggregated_score", scores.aggregated);
  report.Add("blind", curve.blind);
  report.Say(absl::StrCat(
      "pi, of the ", scores.failed,
      " that fail at t = 1, and when they are forgiven: ", absl::StrJoin(shares, ", ")));
  report.Say(absl::StrFormat("micro and macro agree at every t: at most %.1g apart",
                             LargestDifference(scores)));
  report.Say(absl::StrCat("aggregated score ", Figure(scores.aggregated), " ",
                          Bracketed(scores.aggregated_interval)));
  if (curve.sighted.has_value()) report.Add("sighted", SightedReport(*curve.sighted));
  if (curve.derived.has_value()) report.Add("derived", DerivedReport(*curve.derived, samples));
  Report failures;
  if (!curve.failures.empty()) failures.Say("failures at t = 1:");
  for (const FailureClass& failure : curve.failures) {
    failures.Add(OutcomeName(failure.outcome), failure.samples);
    failures.Say(absl::StrCat("  ", failure.samples, " ", OutcomeName(failure.outcome)));
    for (size_t i = 0; i < failure.reasons.size() && i < kShownReasons; ++i) {
      const auto& [reason, times] = failure.reasons[i];
      failures.Say(absl::StrCat("    ", times, " x ", Printable(reason, kShownBytes)));
    }
  }
  report.Add("failures", std::move(failures));
  Table movers = {{"path"}, {"line"}, {"outcome"}, {"speedup"}, {"change"}};
  if (!curve.movers.empty()) report.Say("what moves the aggregated score most:");
  for (size_t i = 0; i < curve.movers.size(); ++i) {
    const auto& [index, change] = curve.movers[i];
    const LoggedSample& sample = samples[index];
    movers.Add({sample.path, sample.line, OutcomeName(sample.Shown(1)),
                sample.speedup > 0 ? Cell(sample.speedup) : Cell(), change});
    if (i >= kShownMovers) continue;
    const Outcome outcome = sample.At(1);
    report.Say(absl::StrFormat("  %+.5f  %s, %s", change, Printable(sample.path, kShownBytes),
                               outcome == Outcome::kCorrect
                                   ? absl::StrFormat("speedup %.4g", sample.speedup)
                                   : std::string(OutcomeName(outcome))));
  }
  report.Add("moves_most", std::move(movers));
  report.Add("notes", Json::List(curve.log.notes));
  return report;
}

}  // namespace graphnet
