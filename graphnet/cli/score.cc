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
#include "graphnet/base/file.h"
#include "graphnet/base/parallel.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/command.h"
#include "graphnet/cli/json.h"
#include "graphnet/cli/messages.h"
#include "graphnet/cli/options.h"
#include "graphnet/evaluate/curve.h"
#include "graphnet/evaluate/curve_report.h"
#include "graphnet/evaluate/log.h"
#include "graphnet/evaluate/plot.h"
#include "graphnet/evaluate/report_page.h"

namespace graphnet {
namespace {

struct ScoreFlags {
  std::vector<std::string> logs;
  ScoreOptions score;
  std::string svg;
  std::string html;
  int jobs = 0;
};

absl::StatusOr<Curve> ScoreLog(const std::string& file, const ScoreFlags& options) {
  ASSIGN_OR_RETURN(Log log, ReadLog(file, options.jobs > 0 ? options.jobs : NumCpus()));
  return MakeCurve(std::move(log), options.score);
}

absl::StatusOr<CommandResult> ScoreLogs(const ScoreFlags& options) {
  std::vector<std::string> files;
  int code = 0;
  std::vector<Report> reports;  // of curves, and of logs without one
  size_t failed = 0;
  std::string aside;
  const auto tell = [&](const std::string& path, const absl::Status& status) {
    aside += ErrorLine(status.message());
    reports.push_back(SampleReport(path, status));
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
    for (const std::string& note : curve->log.notes) aside += NoteLine(note);
    Report& report = reports.emplace_back();
    if (reports.size() > failed + 1) report.Say("");
    report.Append(ReportOf(*curve, options.score));
    if (keeps) curves.push_back(*std::move(curve));
  }
  if (!options.svg.empty() && !curves.empty())
    RETURN_IF_ERROR(WriteFileAtomic(options.svg, WritePlots(curves)));
  if (!options.html.empty() && !curves.empty())
    RETURN_IF_ERROR(WriteFileAtomic(options.html, WriteReportPage(curves, options.score)));
  Report report;
  report.Add("passed", reports.size() - failed);
  report.Add("failed", failed);
  report.Add("curves", std::move(reports));
  return CommandResult(std::move(report), code, std::move(aside));
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
  AddJsonOption(command,
                "curves with curve, p, b, interpretation, samples, S and ES by t, macro, pi, "
                "aggregated_score and more");
  command->callback([options, run] { *run = [options] { return ScoreLogs(*options); }; });
}

}  // namespace graphnet
