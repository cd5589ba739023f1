#include "graphnet/evaluate/report_page.h"

#include <bit>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "graphnet/base/markup.h"
#include "graphnet/base/status.h"
#include "graphnet/evaluate/page_text.h"
#include "graphnet/evaluate/plot.h"

namespace graphnet {
namespace {

constexpr size_t kMaxPathBytes = 1000;

void AddInterval(absl::string_view key, const Interval& interval, JsonWriter* json) {
  json->Key(key).Open('[').Number(interval.low).Number(interval.high).Close(']');
}

void AddLevel(const LevelScores& level, JsonWriter* json) {
  json->Open('{').Key("t").Number(level.t).Key("s").Number(level.s).Key("es").Number(level.es);
  AddInterval("s95", level.s_interval, json);
  AddInterval("es95", level.es_interval, json);
  json->Key("correct").Number(level.macro.correct).Key("slow").Number(level.macro.slow);
  json->Key("alpha").Number(level.macro.alpha).Key("beta").Number(level.macro.beta);
  json->Key("lambda").Number(level.macro.lambda).Key("eta").Number(level.macro.eta);
  json->Key("gamma").Number(level.gamma);
  json->Key("macroS").Number(level.macro_s).Key("macroES").Number(level.macro_es).Close('}');
}

// Writes a row of the table; page.js knows the columns.
void AddSample(const LoggedSample& sample, JsonWriter* json) {
  json->Open('[').Text(Printable(sample.path, kMaxPathBytes)).Text(OutcomeName(sample.Shown(1)));
  if (sample.correct_levels == 0) {
    json->Null();
  } else {
    json->Number(kMinToleranceLevel + std::countr_zero(sample.correct_levels));
  }
  sample.speedup > 0 ? json->Number(sample.speedup) : json->Null();
  if (!std::isfinite(sample.max_diff)) {
    json->Text(absl::StrCat(sample.max_diff));
  } else {
    sample.status == Outcome::kCorrect ? json->Number(sample.max_diff) : json->Null();
  }
  json->Number(sample.line).Text(sample.reason).Close(']');
}

void AddCurve(const Curve& curve, size_t i, JsonWriter* json) {
  const Scores& scores = curve.scores;
  json->Open('{').Key("name").Text(Printable(curve.log.name)).Key("color").Text(CurveColor(i));
  json->Key("file").Text(Printable(curve.log.file, kMaxPathBytes)).Key("config").Open('[');
  for (const auto& [key, value] : curve.log.config) {
    json->Open('[').Text(Printable(key)).Text(Printable(value)).Close(']');
  }
  json->Close(']').Key("notes").Open('[');
  for (const std::string& note : curve.log.notes) json->Text(note);
  json->Close(']').Key("aggregated").Open('[').Number(scores.aggregated);
  json->Number(scores.aggregated_interval.low).Number(scores.aggregated_interval.high).Close(']');
  json->Key("failed").Number(scores.failed).Key("shares").Open('[');
  for (const double share : scores.error_shares) json->Number(share);
  json->Close(']').Key("levels").Open('[');
  for (const LevelScores& level : scores.levels) AddLevel(level, json);
  json->Close(']').Key("blind").Number(curve.blind).Key("sighted");
  if (!curve.sighted.has_value()) {
    json->Null();
  } else {
    json->Open('{').Key("aggregated").Number(curve.sighted->aggregated).Key("levels").Open('[');
    for (const LevelScores& level : curve.sighted->levels) {
      json->Open('[').Number(level.t).Number(level.s).Number(level.es).Close(']');
    }
    json->Close(']').Close('}');
  }
  json->Key("failures").Open('[');
  for (const FailureClass& failure : curve.failures) {
    json->Open('{').Key("outcome").Text(OutcomeName(failure.outcome));
    json->Key("samples").Number(failure.samples).Key("reasons").Open('[');
    for (const auto& [reason, times] : failure.reasons) {
      json->Open('[').Text(reason).Number(times).Close(']');
    }
    json->Close(']').Close('}');
  }
  json->Close(']').Key("movers").Open('[');
  for (const Influence& mover : curve.movers) {
    json->Open('[').Number(mover.sample).Number(mover.change).Close(']');
  }
  json->Close(']').Key("samples").Open('[');
  for (const LoggedSample& sample : curve.log.samples) AddSample(sample, json);
  json->Close(']').Close('}');
}

}  // namespace

std::string WriteReportPage(absl::Span<const Curve> curves, const ScoreOptions& options) {
  const std::string title = curves.size() == 1
                                ? absl::StrCat("Scores of ", Printable(curves[0].log.name))
                                : absl::StrCat("Scores of ", curves.size(), " logs");
  JsonWriter json;
  json.Open('{').Key("title").Text(title).Key("p").Number(options.p).Key("b").Number(options.b);
  json.Key("interpretation").Text(InterpretationName(options.interpretation));
  json.Key("classes").Open('[');
  for (const PenaltyClass& error : PenaltyClasses(options.interpretation)) {
    json.Open('{').Key("name").Text(error.name).Key("threshold");
    error.threshold == kNeverForgiven ? json.Null() : json.Number(error.threshold);
    json.Close('}');
  }
  json.Close(']').Key("curves").Open('[');
  for (size_t i = 0; i < curves.size(); ++i) AddCurve(curves[i], i, &json);
  json.Close(']').Close('}');
  // The inserted text is not searched again.
  return absl::StrReplaceAll(ReportPageText(), {{"@TITLE@", XmlText(title)},
                                                {"@PLOTS@", WritePlots(curves)},
                                                {"@DATA@", json.Take()},
                                                {"@SCRIPT@", ReportScriptText()}});
}

}  // namespace graphnet
