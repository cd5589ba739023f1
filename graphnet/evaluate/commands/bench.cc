#include "graphnet/evaluate/bench.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graphnet/base/file.h"
#include "graphnet/base/parallel.h"
#include "graphnet/base/status.h"
#include "graphnet/command/batch.h"
#include "graphnet/command/command.h"
#include "graphnet/command/inputs.h"
#include "graphnet/command/json.h"
#include "graphnet/command/messages.h"
#include "graphnet/command/options.h"
#include "graphnet/command/progress.h"
#include "graphnet/evaluate/bench_locate.h"
#include "graphnet/evaluate/bench_report.h"
#include "graphnet/evaluate/bench_workers.h"
#include "graphnet/evaluate/commands/bench_options.h"
#include "graphnet/evaluate/commands/bench_reference.h"
#include "graphnet/evaluate/failure_kind.h"
#include "graphnet/evaluate/log.h"
#include "graphnet/evaluate/log_change.h"
#include "graphnet/run/worker_host.h"

namespace graphnet {
namespace {

constexpr size_t kMaxStandardInputBytes = size_t{16} << 30;

enum class BenchTolerance : uint8_t { kNotGiven, kFixed, kDerived };

struct BenchFlags {
  BenchRun run;
  BenchTolerance tolerance = BenchTolerance::kNotGiven;
  InputList inputs;
  std::string out;
  std::string resume;
  bool strict = false;
  std::string baseline;  // a log, or a folder of one for each backend; empty if there is none
  std::string record;    // the folder of a reference to write; empty if there is none
  std::optional<ReferenceOptions> of_reference;
  double min_speedup = 0;
  bool has_min_speedup = false;
  bool locates = false;
  double locate_s = 60;
};

// Reads the earlier log of each backend; none if there is no --baseline.
absl::StatusOr<std::vector<Log>> ReadBaseline(const std::string& baseline,
                                              const BenchSettings& settings) {
  std::vector<Log> logs;
  if (baseline.empty()) return logs;
  ASSIGN_OR_RETURN(const std::vector<Backend> backends, BackendsOf(settings));
  const bool is_folder = IsFolder(baseline);
  if (!is_folder && backends.size() > 1)
    return absl::InvalidArgumentError(
        "--baseline: several backends need a folder of their logs, not one log");
  for (const Backend& backend : backends) {
    const std::string file =
        is_folder ? JoinPath(baseline, absl::StrCat(FileNameOf(backend), ".log")) : baseline;
    absl::StatusOr<Log> log = ReadLog(file, {.jobs = NumCpus()});
    if (!log.ok()) return Annotate(log.status(), "--baseline");
    logs.push_back(*std::move(log));
  }
  return logs;
}

// Returns "bench", or the first of "bench-2" and so on that does not exist.
std::string FreeFolder() {
  std::string folder = "bench";
  for (int i = 2; IsFolder(folder) || FileExists(folder); ++i) folder = absl::StrCat("bench-", i);
  return folder;
}

// Prints at once what is found of a sample: a failure on the standard error.
void PrintOutcome(const std::string& path, const Backend& backend, const BenchOutcome& outcome,
                  Progress* progress) {
  const SampleResult& result = outcome.result;
  const Outcome how = FailureKindOf(result).outcome;
  if (WantsJson()) return;
  const std::string shown = Printable(path, 1000);
  const bool is_explained = result.rounding.has_value() && result.rounding->verdict.has_value() &&
                            IsExplained(*result.rounding->verdict);
  // A sample that both ways to judge call right has no line.
  if (result.rounding.has_value() && !(is_explained && how == Outcome::kCorrect)) {
    progress->Print(absl::StrCat("ROUNDING ", shown, ": ", backend.shown(), ": ",
                                 DescribeRounding(*result.rounding), "\n"));
  }
  if (how == Outcome::kCorrect) return;
  if (how == Outcome::kBlind) {
    progress->Print(absl::StrCat("BLIND ", shown, ": ", backend.shown(), ": ",
                                 DescribeBlind(result.blind), "\n"));
    return;
  }
  const std::string reason = result.reason.empty() ? "" : absl::StrCat(": ", result.reason);
  progress->Note(FailLine(
      path, absl::UnknownError(absl::StrCat(backend.shown(), ": ", OutcomeName(how), reason))));
  if (!outcome.oracle.has_value()) return;
  progress->Print(absl::StrCat("ORACLE ", shown, ": ",
                               DescribeFinding(*outcome.oracle, backend.shown()), "\n"));
}

absl::StatusOr<BenchResults> RunWithProgress(BenchRun run) {
  std::unique_ptr<Progress> progress;
  run.listener.on_begin = [&](size_t samples) { progress = std::make_unique<Progress>(samples); };
  run.listener.on_outcome = [&](const std::string& path, const Backend& backend,
                                const BenchOutcome& outcome) {
    PrintOutcome(path, backend, outcome, progress.get());
    std::fflush(stdout);  // The next one may take long.
  };
  run.listener.on_step = [&](size_t done, size_t wrong) { progress->Step(done, wrong); };
  run.listener.on_note = [&](const std::string& note) {
    if (!WantsJson()) progress->Print(NoteLine(note));
  };
  return RunBench(run);
}

absl::Status FindSamples(BenchRun* run) {
  ASSIGN_OR_RETURN(const std::vector<NamedInput> inputs,
                   FindNamedInputs(InputList{run->settings.in, run->settings.list}));
  run->samples.clear();
  for (const NamedInput& input : inputs) {
    run->samples.push_back(input.path);
    run->names[input.path] = input.name;
  }
  return absl::OkStatus();
}

// Copies the standard input to a file, as workers read samples and a benchmark can be resumed.
absl::Status KeepStandardInput(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile("-", kMaxStandardInputBytes));
  return WriteFileAtomic(path, bytes);
}

absl::StatusOr<CommandResult> RunAndTell(BenchFlags& options) {
  BenchRun& run = options.run;
  run.settings.derives_tolerance =
      options.tolerance == BenchTolerance::kDerived ||
      (options.tolerance == BenchTolerance::kNotGiven && !run.settings.against.empty());
  run.settings.in = options.inputs.in;
  run.settings.list = options.inputs.list;
  const bool has_inputs = !run.settings.in.empty() || !run.settings.list.empty();
  if (!options.resume.empty() && !options.out.empty()) {
    return absl::InvalidArgumentError(
        "--resume: results go to the folder of the benchmark; leave out -o");
  }
  run.folder = !options.resume.empty() ? options.resume
               : !options.out.empty()  ? options.out
                                       : FreeFolder();
  if (options.has_min_speedup && options.baseline.empty() && run.settings.against.empty())
    return absl::InvalidArgumentError("--min-speedup: needs --baseline or --against");
  std::optional<Reference> reference;
  if (has_inputs && !run.settings.against.empty()) {
    ASSIGN_OR_RETURN(reference, Reference::Read(run.settings.against));
    RETURN_IF_ERROR(TakeSettings(*reference, *options.of_reference, &run.settings));
  }
  std::vector<Log> earlier;
  absl::StatusOr<BenchSettings> begun = absl::NotFoundError("");
  if (!options.resume.empty()) begun = SettingsOf(run.folder);
  if (begun.ok()) {
    if (!has_inputs && run.settings.backends.empty()) run.settings = *begun;
    RETURN_IF_ERROR(CheckSame(*begun, run.settings));
    ASSIGN_OR_RETURN(earlier, ReadBaseline(options.baseline, run.settings));
  } else {
    if (!absl::IsNotFound(begun.status())) return begun.status();
    if (!has_inputs || run.settings.backends.empty()) {
      return absl::InvalidArgumentError(
          options.resume.empty()
              ? "needs IN and --backend, or --resume"
              : absl::StrCat("there is no benchmark in ", Printable(options.resume, 1000)));
    }
    // Fail before the folder is made.
    RETURN_IF_ERROR(FindSamples(&run));
    ASSIGN_OR_RETURN(earlier, ReadBaseline(options.baseline, run.settings));
    const bool has_stdin = absl::c_linear_search(run.settings.in, "-");
    const std::string copy = JoinPath(run.folder, "stdin");
    absl::c_replace(run.settings.in, std::string("-"), copy);
    RETURN_IF_ERROR(BeginBench(run.folder, run.settings));
    if (has_stdin) RETURN_IF_ERROR(KeepStandardInput(copy));
  }
  RETURN_IF_ERROR(FindSamples(&run));
  Report report;
  if (!run.settings.against.empty()) {
    if (!reference.has_value()) {
      ASSIGN_OR_RETURN(reference, Reference::Read(run.settings.against));
    }
    run.against = &*reference;
    RETURN_IF_ERROR(SkipUnknown(&run, &report));
    SayDifferences(run, &report);
    ASSIGN_OR_RETURN(earlier, RecordedLogs(run));
  }
  run.host = HostOfTool();
  run.observe = ObserverOfTool();
  ASSIGN_OR_RETURN(const BenchResults made, RunWithProgress(run));
  const std::vector<BackendResults>& results = made.backends;
  if (options.locates) {
    Progress progress("locating");
    ASSIGN_OR_RETURN(const Causes causes,
                     LocateCauses(run, made, options.locate_s, [&](const std::string& line) {
                       if (!WantsJson()) progress.Print(absl::StrCat(line, "\n"));
                     }));
    progress.End();
    report.Append(ReportOf(causes));
  }
  Json unusable = Json::List();
  std::string failures;
  for (const absl::Status& status : made.unusable) {
    unusable.push_back(ErrorJson(status));
    if (!WantsJson()) absl::StrAppend(&failures, FailLine("", status), "\n");
  }
  report.Append(ReportOf(results));
  if (!made.unusable.empty()) report.Add("unusable", std::move(unusable));
  bool is_kept = true;  // what the earlier logs had
  if (!earlier.empty()) {
    std::vector<Report> reports;
    for (size_t i = 0; i < results.size(); ++i) {
      ASSIGN_OR_RETURN(const Log now, ReadLog(results[i].log, {.jobs = NumCpus()}));
      const LogChange change = CompareLogs(earlier[i], now);
      reports.push_back(ReportOf(change));
      is_kept &= !options.has_min_speedup || Passes(change, options.min_speedup);
    }
    report.Add("changes", std::move(reports));
  }
  const bool all_loaded = absl::c_all_of(results, [](const BackendResults& one) {
    return absl::c_all_of(one.samples, [](const auto& entry) { return entry.second.is_loaded; });
  });
  const bool all_right = absl::c_all_of(results, [](const BackendResults& one) {
    return absl::c_all_of(one.samples, [](const auto& entry) { return entry.second.is_right(); });
  });
  const bool all_pass = absl::c_all_of(results, [](const BackendResults& one) {
    return absl::c_all_of(one.samples, [](const auto& entry) {
      return entry.second.is_right() || entry.second.is_blind();
    });
  });
  const bool has_reference = run.against != nullptr;
  run.against = nullptr;  // it ends here
  const bool is_fine =
      all_loaded && is_kept && (all_right || !options.strict) && (all_pass || !has_reference);
  const bool is_usable = made.unusable.empty() && (all_loaded || !has_reference);
  return CommandResult(std::move(report), !is_usable ? 2 : is_fine ? 0 : 1, std::move(failures));
}

absl::StatusOr<CommandResult> RunAndRecord(BenchFlags options) {
  if (options.record.empty()) return RunAndTell(options);
  if (options.run.settings.fresh_inputs)
    return absl::InvalidArgumentError(
        "--record: a reference has one set of inputs; leave out "
        "--fresh-inputs");
  absl::StatusOr<CommandResult> result = absl::UnknownError("");
  RETURN_IF_ERROR(Record(options.record, &options.run, [&] {
    result = RunAndTell(options);
    return result.status();
  }));
  return result;
}

void DeclareBench(CommandLine& command) {
  auto options = std::make_shared<BenchFlags>();
  BenchSettings& settings = options->run.settings;
  AddInputList(command, &options->inputs);
  command
      .AddOption(
          "--backend", &settings.backends,
          "Compilers, separated by commas (graphnet backends lists them), with options in "
          "braces (graphnet backends NAME), as inductor{mode=max-autotune;dynamic=true}, and "
          "rewrites: pass:PASS+PASS, decompose:pieces=3")
      .Delimiter(',')
      .TypeName("BACKENDS");
  AddFolderOption(
      command, &options->out,
      "Folder for NAME.log and NAME.jsonl of each backend (default: bench, bench-2, …)");
  command
      .AddOption("--resume", &options->resume,
                 "Continue the benchmark in this folder, with its own options if neither IN nor "
                 "--backend is given; start it if there is none")
      .TypeName("DIR");
  const Option device =
      command.AddOption("--device", &settings.device, "Device: cpu or cuda:0").ShowDefault();
  const Option warmup =
      command.AddOption("--warmup", &settings.warmup, "Runs before the timed ones")
          .Range(0, 1000000)
          .ShowDefault();
  const Option trials =
      command.AddOption("--trials", &settings.trials, "Timed runs, in turn with eager ones")
          .Range(1, 1000000)
          .ShowDefault();
  command.AddFlag("--fresh-inputs", &settings.fresh_inputs,
                  "Draw new inputs for each timed run, and compare its outputs");
  const std::map<std::string, BenchTolerance> tolerances = {{"fixed", BenchTolerance::kFixed},
                                                            {"derived", BenchTolerance::kDerived}};
  command.AddChoice("--tolerance", &options->tolerance, tolerances,
                    "derived: say of outputs that differ whether rounding explains it, by some 30 "
                    "more runs of the sample, beside the fixed tolerances t. fixed: do not "
                    "(default: derived with --against, else fixed)");
  command.AddFlag("--oracle", &settings.oracle,
                  "If outputs differ, compare both sides with float64: which side is wrong, and "
                  "at which node first; a small sample that shows it goes to reduced/");
  command
      .AddOption("--oracle-time", &options->run.oracle_s,
                 "Most seconds that the oracle searches, for each sample and backend")
      .Range(0.0, 1e6)
      .ShowDefault();
  command.AddFlag("--locate", &options->locates,
                  "Reduce each sample that fails to the smallest one that does, group samples by "
                  "cause, and write a test for pytest of each cause to causes/");
  command
      .AddOption("--locate-time", &options->locate_s,
                 "Most seconds that --locate takes for each sample and backend")
      .Range(0.0, 1e6)
      .ShowDefault();
  const Option seed = AddSeedOption(command, &settings.seed);
  command
      .AddOption("--timeout", &options->run.timeout_s,
                 "Most seconds for compiling, for running, or for a round of trials")
      .Range(0.01, 1e6)
      .ShowDefault();
  AddMemoryOption(command, &options->run);
  AddJobsOption(command, &options->run.jobs);
  const Option threads = AddThreadsOption(command, &settings.threads);
  options->of_reference = ReferenceOptions{device, warmup, trials, seed, threads};
  command.AddFlag(
      "--strict", &options->strict,
      "Exit with 1 if a backend is wrong on a sample, or if a wrong answer would have passed");
  const Option baseline =
      command
          .AddOption("--baseline", &options->baseline,
                     "Say what changed since this log of an earlier benchmark, or since the logs "
                     "of this folder, one for each backend")
          .TypeName("LOG|DIR");
  command
      .AddOption(
          "--on", &settings.on,
          "Run all workers elsewhere: COMMAND, as 'ssh HOST' or 'docker exec -i BOX', followed "
          "by sh must run a shell there, which has Python 3")
      .TypeName("COMMAND");
  const Option least = AddMinSpeedupOption(command, &options->min_speedup);
  const Option against =
      command
          .AddOption("--against", &settings.against,
                     "Run the backends only, and compare them with this reference, whose settings "
                     "and backends count unless others are given; exit with 1 if one is wrong")
          .TypeName("REF")
          .Excludes(baseline);
  command
      .AddOption("--record", &options->record,
                 "Write a reference for other machines to this folder: the outputs and times of "
                 "the eager side, and the logs")
      .TypeName("REF")
      .Excludes(against, std::string("--resume"));
  AddExecOptions(command, &settings);
  AddTrustOption(command, &options->run.trust);
  AddDrawWeightsOption(command);
  AddJsonOption(
      command,
      "backends with log, samples, outcomes, rounding and median_speedup; with "
      "--baseline or --against, "
      "changes with speedup, faster, slower, broke, mended and more; with --locate, causes and "
      "unknown_causes");
  command.Run([options, least] {
    options->has_min_speedup = least.is_given();
    return RunAndRecord(*options);
  });
}

const RegisteredCommand kBench(
    {.name = "bench",
     .help = "Run samples with compilers and without, and compare results and times",
     .group = CommandGroup::kJudge,
     .declare = DeclareBench,
     .examples = {"graphnet bench samples/resnet.pb --backend nope,jit --trials 5 -o logs"}});

}  // namespace
}  // namespace graphnet
