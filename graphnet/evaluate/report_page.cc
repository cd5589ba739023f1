#include "graphnet/evaluate/report_page.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/json.h"
#include "graphnet/base/markup.h"
#include "graphnet/base/status.h"
#include "graphnet/evaluate/decision.h"
#include "graphnet/evaluate/page_text.h"
#include "graphnet/evaluate/plot.h"

namespace graphnet {
namespace {

constexpr size_t kMaxPathBytes = 1000;

Json JsonOf(const Interval& interval) {
  return Json::List({Json::Rounded(interval.low), Json::Rounded(interval.high)});
}

Json JsonOf(const LevelScores& level) {
  return Json::Object({{"t", level.t},
                       {"s", Json::Rounded(level.s)},
                       {"es", Json::Rounded(level.es)},
                       {"s95", JsonOf(level.s_interval)},
                       {"es95", JsonOf(level.es_interval)},
                       {"correct", level.macro.correct},
                       {"slow", level.macro.slow},
                       {"alpha", Json::Rounded(level.macro.alpha)},
                       {"beta", Json::Rounded(level.macro.beta)},
                       {"lambda", Json::Rounded(level.macro.lambda)},
                       {"eta", Json::Rounded(level.macro.eta)},
                       {"gamma", Json::Rounded(level.gamma)},
                       {"macroS", Json::Rounded(level.macro_s)},
                       {"macroES", Json::Rounded(level.macro_es)}});
}

// Returns a row of the table; page.js knows the columns.
Json JsonOf(const LoggedSample& sample) {
  Json right_from, speedup, error;
  if (sample.correct_levels != 0)
    right_from = kMinToleranceLevel + std::countr_zero(sample.correct_levels);
  if (sample.speedup > 0) speedup = Json::Rounded(sample.speedup);
  if (!std::isfinite(sample.max_diff)) {
    error = absl::StrCat(sample.max_diff);
  } else if (sample.status == Outcome::kCorrect) {
    error = Json::Rounded(sample.max_diff);
  }
  return Json::List({Printable(sample.path, kMaxPathBytes), OutcomeName(sample.Shown(1)),
                     right_from, speedup, error, sample.line, sample.reason});
}

Json JsonOf(const Curve& curve, size_t i) {
  const Scores& scores = curve.scores;
  Json json = Json::Object({{"name", Printable(curve.log.name)},
                            {"color", CurveColor(i)},
                            {"file", Printable(curve.log.file, kMaxPathBytes)}});
  Json& config = json["config"] = Json::List();
  for (const auto& [key, value] : curve.log.config)
    config.push_back(Json::List({Printable(key), Printable(value)}));
  json["notes"] = curve.log.notes;
  json["aggregated"] =
      Json::List({Json::Rounded(scores.aggregated), Json::Rounded(scores.aggregated_interval.low),
                  Json::Rounded(scores.aggregated_interval.high)});
  json["failed"] = scores.failed;
  Json& shares = json["shares"] = Json::List();
  for (const double share : scores.error_shares) shares.push_back(Json::Rounded(share));
  Json& levels = json["levels"] = Json::List();
  for (const LevelScores& level : scores.levels) levels.push_back(JsonOf(level));
  json["blind"] = curve.blind;
  Json& sighted = json["sighted"];
  if (curve.sighted.has_value()) {
    sighted["aggregated"] = Json::Rounded(curve.sighted->aggregated);
    Json& scores_of = sighted["levels"] = Json::List();
    for (const LevelScores& level : curve.sighted->levels)
      scores_of.push_back(Json::List({level.t, Json::Rounded(level.s), Json::Rounded(level.es)}));
  }
  if (curve.derived.has_value()) {
    Json& derived = json["derived"];
    derived["es"] = Json::Rounded(curve.derived->es);
    derived["judged"] = curve.derived->judged;
    derived["blind"] = curve.derived->blind;
    Json& changes = derived["changes"] = Json::List();
    for (const DerivedScore::Change& change : curve.derived->changes) {
      const LoggedSample& sample = curve.log.samples[change.sample];
      changes.push_back(Json::List({change.sample, change.is_right ? "right" : "wrong",
                                    DescribeRounding(*sample.rounding)}));
    }
  }
  Json& failures = json["failures"] = Json::List();
  for (const FailureClass& failure : curve.failures) {
    Json reasons = Json::List();
    for (const auto& [reason, times] : failure.reasons)
      reasons.push_back(Json::List({reason, times}));
    failures.push_back(Json::Object({{"outcome", OutcomeName(failure.outcome)},
                                     {"samples", failure.samples},
                                     {"reasons", std::move(reasons)}}));
  }
  Json& causes = json["causes"] = Json::List();
  for (const LocatedCause& cause : curve.causes) {
    causes.push_back(Json::List({cause.samples, Printable(cause.failure, kMaxPathBytes),
                                 Printable(cause.operators, kMaxPathBytes), Printable(cause.dtypes),
                                 Printable(cause.test, kMaxPathBytes)}));
  }
  Json& movers = json["movers"] = Json::List();
  for (const Influence& mover : curve.movers)
    movers.push_back(Json::List({mover.sample, Json::Rounded(mover.change)}));
  Json& samples = json["samples"] = Json::List();
  for (const LoggedSample& sample : curve.log.samples) samples.push_back(JsonOf(sample));
  return json;
}

}  // namespace

std::string WriteReportPage(absl::Span<const Curve> curves, const ScoreOptions& options) {
  const std::string title = curves.size() == 1
                                ? absl::StrCat("Scores of ", Printable(curves[0].log.name))
                                : absl::StrCat("Scores of ", curves.size(), " logs");
  Json json = Json::Object({{"title", title},
                            {"decision", DecisionText(curves)},
                            {"p", Json::Rounded(options.p)},
                            {"b", Json::Rounded(options.b)},
                            {"interpretation", InterpretationName(options.interpretation)}});
  Json& classes = json["classes"] = Json::List();
  for (const PenaltyClass& error : PenaltyClasses(options.interpretation)) {
    const bool is_forgiven = error.threshold != kNeverForgiven;
    classes.push_back(Json::Object(
        {{"name", error.name}, {"threshold", is_forgiven ? Json(error.threshold) : Json()}}));
  }
  Json& all = json["curves"] = Json::List();
  for (size_t i = 0; i < curves.size(); ++i) all.push_back(JsonOf(curves[i], i));
  // The inserted text is not searched again.
  return absl::StrReplaceAll(ReportPageText(), {{"@TITLE@", XmlText(title)},
                                                {"@PLOTS@", WritePlots(curves)},
                                                {"@DATA@", json.DumpForScript()},
                                                {"@SCRIPT@", ReportScriptText()}});
}

}  // namespace graphnet
