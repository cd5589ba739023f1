#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/file.h"
#include "graphnet/base/parallel.h"
#include "graphnet/base/status.h"
#include "graphnet/base/tolerance.h"
#include "graphnet/command/command.h"
#include "graphnet/command/json.h"
#include "graphnet/command/messages.h"
#include "graphnet/command/options.h"
#include "graphnet/evaluate/bench_locate.h"
#include "graphnet/evaluate/commands/bench_options.h"
#include "graphnet/evaluate/curve.h"
#include "graphnet/evaluate/curve_report.h"
#include "graphnet/evaluate/log.h"
#include "graphnet/evaluate/log_change.h"
#include "graphnet/evaluate/plot.h"
#include "graphnet/evaluate/report_page.h"

namespace graphnet {
namespace {

constexpr size_t kMaxPathBytes = 4096;

struct ScoreFlags {
  std::vector<std::string> logs;
  ScoreOptions score;
  std::string clock{kEndToEnd};
  std::string svg;
  std::string html;
  int jobs = 0;
  bool checks_speed = false;  // by `min_speedup`
  double min_speedup = 0;
  bool lists_wrong = false;  // lists what is wrong at `wrong_at`, in the place of scores
  int wrong_at = 0;
};

absl::StatusOr<Log> ReadLogOf(const std::string& file, const ScoreFlags& options) {
  return ReadLog(file,
                 {.jobs = options.jobs > 0 ? options.jobs : NumCpus(), .clock = options.clock});
}

absl::StatusOr<Curve> ScoreLog(const std::string& file, const ScoreFlags& options) {
  ASSIGN_OR_RETURN(Log log, ReadLogOf(file, options));
  return MakeCurve(std::move(log), options.score);
}

// Adds the causes of failures that the folder of a log has for its backend.
absl::Status AddCauses(Curve* curve) {
  const std::string folder = std::filesystem::path(curve->log.file).parent_path();
  ASSIGN_OR_RETURN(const Causes causes, ReadCauses(folder.empty() ? "." : folder));
  for (const Cause& cause : causes.causes) {
    if (cause.log != BaseName(curve->log.file)) continue;
    curve->causes.push_back(
        {cause.failure, cause.operators, cause.dtypes, cause.samples.size(), cause.test});
  }
  return absl::OkStatus();
}

// Reports the samples of a log that are wrong. Its text has those that are not yet in `known`.
Report WrongOf(const Log& log, int t, absl::flat_hash_set<std::string>* known) {
  Table wrong = {{"path"}, {"status"}};
  std::vector<std::string> paths;
  for (const LoggedSample& sample : log.samples) {
    if (sample.IsCorrect(t)) continue;
    wrong.Add({sample.path, OutcomeName(sample.At(t))});
    if (known->insert(sample.path).second) paths.push_back(Printable(sample.path, kMaxPathBytes));
  }
  Report report;
  report.Add("curve", log.name);
  report.Add("file", log.file);
  report.Add("t", t);
  report.Add("wrong", std::move(wrong));
  if (!paths.empty()) report.Say(absl::StrJoin(paths, "\n"));
  return report;
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
  // Two logs of one compiler are compared, the second with the first.
  const bool is_pair = files.size() == 2 && failed == 0;
  std::vector<Log> pair;
  const bool keeps = !options.svg.empty() || !options.html.empty();
  absl::flat_hash_set<std::string> known;  // wrong paths that are in the text
  const auto add = [&](const std::string& file) -> absl::Status {
    if (options.lists_wrong) {
      ASSIGN_OR_RETURN(const Log log, ReadLogOf(file, options));
      for (const std::string& note : log.notes) aside += NoteLine(note);
      reports.push_back(WrongOf(log, options.wrong_at, &known));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Curve curve, ScoreLog(file, options));
    for (const std::string& note : curve.log.notes) aside += NoteLine(note);
    Report& report = reports.emplace_back();
    if (reports.size() > failed + 1) report.Say("");
    report.Append(ReportOf(curve, options.score));
    if (is_pair) pair.push_back(curve.log);
    if (const absl::Status read = AddCauses(&curve); !read.ok()) aside += NoteLine(read.message());
    if (keeps) curves.push_back(std::move(curve));
    return absl::OkStatus();
  };
  for (const std::string& file : files) {
    absl::Status added = add(file);
    if (added.ok()) continue;
    const bool disagrees = absl::IsFailedPrecondition(added);
    if (options.logs.size() == 1 && files.size() == 1 && !disagrees) return added;
    // Go on with the others.
    code = std::max(code, disagrees ? 1 : 2);
    tell(file, added);
  }
  if (!options.svg.empty() && !curves.empty())
    RETURN_IF_ERROR(WriteFileAtomic(options.svg, WritePlots(curves)));
  if (!options.html.empty() && !curves.empty())
    RETURN_IF_ERROR(WriteFileAtomic(options.html, WriteReportPage(curves, options.score)));
  std::vector<Report> changes;
  if (pair.size() == 2 && AreOfOneCompiler(pair[0], pair[1])) {
    const LogChange change = CompareLogs(pair[0], pair[1]);
    Report& report = changes.emplace_back();
    report.Say("");
    report.Append(ReportOf(change));
    if (options.checks_speed && !Passes(change, options.min_speedup)) code = std::max(code, 1);
  } else if (options.checks_speed) {
    return absl::InvalidArgumentError(
        "--min-speedup: needs two logs of one compiler, the earlier one first");
  }
  Report report;
  report.Add("passed", reports.size() - failed);
  report.Add("failed", failed);
  report.Add("curves", std::move(reports));
  if (!changes.empty()) report.Add("changes", std::move(changes));
  return CommandResult(std::move(report), code, std::move(aside));
}

void DeclareScore(CommandLine& command) {
  auto options = std::make_shared<ScoreFlags>();
  command
      .AddOption("LOG", &options->logs,
                 "Benchmark logs, one per curve, - for the standard input, or folders of them "
                 "(*.log, *.txt)")
      .Required();
  const auto finite = [](const std::string& text) {
    double value = 0;
    return absl::SimpleAtod(text, &value) && std::isfinite(value) ? "" : "is no number";
  };
  command
      .AddOption("--p", &options->score.p,
                 "Penalty for being slower than eager: a speedup s below 1 counts as s^(p + 1)")
      .Check(finite)
      .Range(0.0, 1e6)
      .ShowDefault();
  const auto base = [](const std::string& text) {
    double value = 0;
    return absl::SimpleAtod(text, &value) && value > 0 && value <= 1
               ? ""
               : "is no number above 0 and up to 1";
  };
  command.AddOption("--b", &options->score.b, "Score of a failure, above 0 and at most 1")
      .Check(base)
      .ShowDefault();
  const std::map<std::string, Interpretation> interpretations = {
      {"default", Interpretation::kDefault},
      {"mismatch_extended", Interpretation::kMismatchExtended},
      {"report", Interpretation::kReport}};
  command.AddChoice(
      "--interpretation", &options->score.interpretation, interpretations,
      "The t from which ES(t) forgives each class of failure: docs/evaluation_reference.md");
  command
      .AddChoice(
          "--measure", &options->clock, {"e2e", "gpu", "kernel"},
          "The clock whose speedups count, those of the lines [Speedup][e2e], [Speedup][gpu] "
          "or [Speedup][kernel]: docs/evaluation_reference.md")
      .ShowDefault();
  command.AddOption("--svg", &options->svg, "Draw the curves and the speedups").TypeName("FILE");
  command
      .AddOption("--html", &options->html,
                 "Write a page with plots, tables and all samples, which needs no other file")
      .TypeName("FILE");
  const Option wrong =
      command
          .AddOption("--wrong-at", &options->wrong_at,
                     "Print the paths of the samples that are wrong at this tolerance t, one a "
                     "line, and no scores")
          .Range(kMinToleranceLevel, kMaxToleranceLevel)
          .TypeName("T")
          .Excludes("--svg", "--html", "--p", "--b", "--interpretation");
  const Option least = AddMinSpeedupOption(command, &options->min_speedup).Excludes(wrong);
  AddJobsOption(command, &options->jobs);
  AddJsonOption(command,
                "curves with curve, p, b, interpretation, samples, S and ES by t, macro, pi, "
                "aggregated_score and more, and measure if it is not e2e; with --wrong-at, curves "
                "with wrong: path and status; for two "
                "logs of one compiler, changes with speedup, faster, slower, broke and mended");
  command.Run([options, wrong, least] {
    options->checks_speed = least.is_given();
    options->lists_wrong = wrong.is_given();
    return ScoreLogs(*options);
  });
}

const RegisteredCommand kScore(
    {.name = "score",
     .help = "Score compilers from their benchmark logs: S(t), ES(t) and their parts",
     .group = CommandGroup::kJudge,
     .declare = DeclareScore,
     .examples = {"graphnet bench samples/vit.pb --backend jit --trials 5 -o log && "
                  "graphnet score log --html scores.html"}});

}  // namespace
}  // namespace graphnet
