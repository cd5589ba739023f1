#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/file.h"
#include "graphnet/base/parallel.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/command.h"
#include "graphnet/cli/json.h"
#include "graphnet/cli/messages.h"
#include "graphnet/cli/options.h"
#include "graphnet/cli/table.h"
#include "graphnet/evaluate/curve.h"
#include "graphnet/evaluate/log.h"
#include "graphnet/evaluate/plot.h"
#include "graphnet/evaluate/report_page.h"

namespace graphnet {
namespace {

constexpr size_t kShownMovers = 5;
constexpr size_t kShownReasons = 3;
constexpr size_t kShownBytes = 100;

struct ScoreFlags {
  std::vector<std::string> logs;
  ScoreOptions score;
  std::string svg;
  std::string html;
  int jobs = 0;
  bool json = false;
};

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

void PrintCurve(const Curve& curve, const ScoreOptions& options) {
  const Scores& scores = curve.scores;
  const std::vector<LoggedSample>& samples = curve.log.samples;
  std::printf("%s: %zu %s; p = %g, b = %g, interpretation %s\n", Printable(curve.log.name).c_str(),
              samples.size(), samples.size() == 1 ? "sample" : "samples", options.p, options.b,
              std::string(InterpretationName(options.interpretation)).c_str());
  if (curve.blind > 0) {
    std::printf("%zu of %zu samples are blind: a wrong answer would have passed at t = %d%s\n",
                curve.blind, samples.size(), kCustomaryToleranceLevel,
                curve.sighted.has_value() ? "; the columns \"sighted\" leave them out" : "");
  }
  std::vector<TableRow> rows = {{"t", "S(t)", "95 %", "ES(t)", "95 %", "correct", "slower", "alpha",
                                 "beta", "lambda", "eta", "gamma"}};
  if (curve.sighted.has_value()) rows[0].insert(rows[0].end(), {"S sighted", "ES sighted"});
  for (const LevelScores& level : scores.levels) {
    const MacroParameters& m = level.macro;
    rows.push_back({absl::StrFormat("%3d", level.t), Figure(level.s), Bracketed(level.s_interval),
                    Figure(level.es), Bracketed(level.es_interval), absl::StrCat(m.correct),
                    absl::StrCat(m.slow), Figure(m.alpha), Figure(m.beta), Figure(m.lambda),
                    Figure(m.eta), Figure(level.gamma)});
    if (!curve.sighted.has_value()) continue;
    const LevelScores& sighted = curve.sighted->levels[rows.size() - 2];
    rows.back().insert(rows.back().end(), {Figure(sighted.s), Figure(sighted.es)});
  }
  PrintTable(rows);
  std::vector<std::string> shares;
  for (size_t c = 0; c < scores.error_shares.size(); ++c) {
    shares.push_back(ShareText(PenaltyClasses(options.interpretation)[c], scores.error_shares[c]));
  }
  std::printf("pi, of the %zu that fail at t = 1, and when they are forgiven: %s\n", scores.failed,
              absl::StrJoin(shares, ", ").c_str());
  std::printf("micro and macro agree at every t: at most %.1g apart\n", LargestDifference(scores));
  std::printf("aggregated score %s %s\n", Figure(scores.aggregated).c_str(),
              Bracketed(scores.aggregated_interval).c_str());
  if (curve.sighted.has_value()) {
    std::printf("aggregated score without blind samples %s %s\n",
                Figure(curve.sighted->aggregated).c_str(),
                Bracketed(curve.sighted->aggregated_interval).c_str());
  }
  if (!curve.failures.empty()) std::printf("failures at t = 1:\n");
  for (const FailureClass& failure : curve.failures) {
    std::printf("  %zu %s\n", failure.samples, std::string(OutcomeName(failure.outcome)).c_str());
    for (size_t i = 0; i < failure.reasons.size() && i < kShownReasons; ++i) {
      const auto& [reason, times] = failure.reasons[i];
      std::printf("    %zu x %s\n", times, Printable(reason, kShownBytes).c_str());
    }
  }
  if (curve.movers.empty()) return;
  std::printf("what moves the aggregated score most:\n");
  for (size_t i = 0; i < curve.movers.size() && i < kShownMovers; ++i) {
    const LoggedSample& sample = samples[curve.movers[i].sample];
    const Outcome outcome = sample.At(1);
    std::printf(
        "  %+.5f  %s, %s\n", curve.movers[i].change, Printable(sample.path, kShownBytes).c_str(),
        outcome == Outcome::kCorrect ? absl::StrFormat("speedup %.4g", sample.speedup).c_str()
                                     : std::string(OutcomeName(outcome)).c_str());
  }
}

Json IntervalJson(const Interval& interval) {
  return Json::List(std::vector<double>{interval.low, interval.high});
}

Json CurveJson(const Curve& curve, const ScoreOptions& options) {
  const Scores& scores = curve.scores;
  Json json;
  json["curve"] = curve.log.name;
  json["file"] = curve.log.file;
  json["p"] = options.p;
  json["b"] = options.b;
  json["interpretation"] = InterpretationName(options.interpretation);
  json["samples"] = curve.log.samples.size();
  for (const char* name : {"S", "ES", "macro", "intervals"}) json[name] = Json::Object();
  for (const LevelScores& level : scores.levels) {
    const std::string t = absl::StrCat(level.t);
    json["S"][t] = level.s;
    json["ES"][t] = level.es;
    Json& macro = json["macro"][t];
    macro["correct"] = level.macro.correct;
    macro["slow"] = level.macro.slow;
    macro["alpha"] = level.macro.alpha;
    macro["beta"] = level.macro.beta;
    macro["lambda"] = level.macro.lambda;
    macro["eta"] = level.macro.eta;
    macro["gamma"] = level.gamma;
    macro["S"] = level.macro_s;
    macro["ES"] = level.macro_es;
    json["intervals"]["S"][t] = IntervalJson(level.s_interval);
    json["intervals"]["ES"][t] = IntervalJson(level.es_interval);
  }
  json["intervals"]["aggregated_score"] = IntervalJson(scores.aggregated_interval);
  json["pi"] = Json::Object();
  json["thresholds"] = Json::Object();
  for (size_t c = 0; c < scores.error_shares.size(); ++c) {
    const PenaltyClass& error = PenaltyClasses(options.interpretation)[c];
    json["pi"][error.name] = scores.error_shares[c];
    json["thresholds"][error.name] =
        error.threshold == kNeverForgiven ? Json() : Json(error.threshold);
  }
  json["aggregated_score"] = scores.aggregated;
  json["blind"] = curve.blind;
  if (curve.sighted.has_value()) {
    Json& sighted = json["sighted"];
    sighted["S"] = Json::Object();
    sighted["ES"] = Json::Object();
    for (const LevelScores& level : curve.sighted->levels) {
      sighted["S"][absl::StrCat(level.t)] = level.s;
      sighted["ES"][absl::StrCat(level.t)] = level.es;
    }
    sighted["aggregated_score"] = curve.sighted->aggregated;
  }
  json["failures"] = Json::Object();
  for (const FailureClass& failure : curve.failures) {
    json["failures"][OutcomeName(failure.outcome)] = failure.samples;
  }
  json["moves_most"] = Json::List();
  for (const Influence& mover : curve.movers) {
    const LoggedSample& sample = curve.log.samples[mover.sample];
    Json made;
    made["path"] = sample.path;
    made["line"] = sample.line;
    made["outcome"] = OutcomeName(sample.Shown(1));
    if (sample.speedup > 0) made["speedup"] = sample.speedup;
    made["change"] = mover.change;
    json["moves_most"].push_back(std::move(made));
  }
  json["notes"] = Json::List(curve.log.notes);
  return json;
}

absl::StatusOr<Curve> ScoreLog(const std::string& file, const ScoreFlags& options) {
  ASSIGN_OR_RETURN(Log log, ReadLog(file, options.jobs > 0 ? options.jobs : NumCpus()));
  return MakeCurve(std::move(log), options.score);
}

absl::StatusOr<int> ScoreLogs(const ScoreFlags& options) {
  std::vector<std::string> files;
  int code = 0;
  std::vector<Json> lines;  // of curves, and of logs without one
  size_t failed = 0;
  const auto tell = [&](const std::string& path, const absl::Status& status) {
    PrintError(status.message());
    if (options.json) lines.push_back(SampleJson(path, status));
    ++failed;
  };
  for (const std::string& path : options.logs) {
    const absl::StatusOr<std::vector<std::string>> found = FindLogs(path);
    if (found.ok()) {
      files.insert(files.end(), found->begin(), found->end());
      continue;
    }
    if (options.logs.size() == 1) return found.status();
    code = 2;
    tell(path, found.status());
  }
  std::vector<Curve> curves;
  const bool keeps = !options.svg.empty() || !options.html.empty();
  for (const std::string& file : files) {
    absl::StatusOr<Curve> curve = ScoreLog(file, options);
    if (!curve.ok()) {
      const bool disagrees = absl::IsFailedPrecondition(curve.status());
      if (options.logs.size() == 1 && files.size() == 1 && !disagrees) return curve.status();
      // Go on with the others.
      code = std::max(code, disagrees ? 1 : 2);
      tell(file, curve.status());
      continue;
    }
    for (const std::string& note : curve->log.notes) PrintNote(note);
    if (options.json) {
      lines.push_back(CurveJson(*curve, options.score));
    } else {
      if (&file != &files.front()) std::printf("\n");
      PrintCurve(*curve, options.score);
    }
    if (keeps) curves.push_back(*std::move(curve));
  }
  if (options.json) {
    Json document;
    document["passed"] = lines.size() - failed;
    document["failed"] = failed;
    document["curves"] = Json(std::move(lines));
    PrintJson(document);
  }
  if (curves.empty()) return code;
  if (!options.svg.empty()) RETURN_IF_ERROR(WriteFileAtomic(options.svg, WritePlots(curves)));
  if (!options.html.empty()) {
    RETURN_IF_ERROR(WriteFileAtomic(options.html, WriteReportPage(curves, options.score)));
  }
  return code;
}

}  // namespace

void RegisterScore(CLI::App& app, CommandRunner* run) {
  auto options = std::make_shared<ScoreFlags>();
  CLI::App* command = app.add_subcommand(
      "score", "Score compilers from their benchmark logs: S(t), ES(t) and their parts");
  command
      ->add_option("LOG", options->logs,
                   "Benchmark logs, one per curve, - for the standard input, or folders of them "
                   "(*.log, *.txt)")
      ->required();
  const auto finite = [](const std::string& text) {
    double value = 0;
    return CLI::detail::lexical_cast(text, value) && std::isfinite(value) ? "" : "is no number";
  };
  command
      ->add_option("--p", options->score.p,
                   "Penalty for being slower than eager: a speedup s below 1 counts as s^(p + 1)")
      ->check(CLI::Validator(finite, /*validator_desc=*/""))
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  const auto base = [](const std::string& text) {
    double value = 0;
    return CLI::detail::lexical_cast(text, value) && value > 0 && value <= 1
               ? ""
               : "is no number above 0 and up to 1";
  };
  command->add_option("--b", options->score.b, "Score of a failure, above 0 and at most 1")
      ->check(CLI::Validator(base, /*validator_desc=*/""))
      ->capture_default_str();
  const std::map<std::string, Interpretation> interpretations = {
      {"default", Interpretation::kDefault},
      {"mismatch_extended", Interpretation::kMismatchExtended},
      {"report", Interpretation::kReport}};
  AddChoiceOption(command, "--interpretation", &options->score.interpretation, interpretations,
                  "The t from which ES(t) forgives each class of failure: docs/evaluation.md");
  command->add_option("--svg", options->svg, "Draw the curves and the speedups")->type_name("FILE");
  command
      ->add_option("--html", options->html,
                   "Write a page with plots, tables and all samples, which needs no other file")
      ->type_name("FILE");
  AddJobsOption(command, &options->jobs);
  AddJsonOption(command, &options->json,
                "curves with curve, p, b, interpretation, samples, S and ES by t, macro, pi, "
                "aggregated_score and more");
  command->callback([options, run] { *run = [options] { return ScoreLogs(*options); }; });
}

}  // namespace graphnet
