#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "graphnet/base/status.h"
#include "graphnet/command/batch.h"
#include "graphnet/command/command.h"
#include "graphnet/command/inputs.h"
#include "graphnet/command/json.h"
#include "graphnet/command/messages.h"
#include "graphnet/command/options.h"
#include "graphnet/command/save.h"
#include "graphnet/command/weights.h"
#include "graphnet/formats/find_values.h"
#include "graphnet/formats/formats.h"
#include "graphnet/interp/inputs/example_input.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/passes/commands/opt_worker.h"
#include "graphnet/passes/commands/package_passes.h"
#include "graphnet/passes/documentation.h"
#include "graphnet/passes/pipeline.h"
#include "graphnet/passes/registry.h"
#include "graphnet/run/engine.h"
#include "graphnet/run/own_operators.h"
#include "graphnet/run/run_passes.h"
#include "graphnet/run/worker_host.h"

namespace graphnet {
namespace {

struct OptFlags {
  InputList samples;
  Output out;
  InputOptions inputs;
  std::shared_ptr<WeightsOptions> weights = std::make_shared<WeightsOptions>();
  std::string passes;
  bool verify_each = false;
  bool timing = false;
  bool dump_changes = false;
  int64_t limit = -1;
  int jobs = 0;
  bool resume = false;
  bool trust = false;
  bool serves = false;         // requests of OptWorkers
  double timeout_s = 0;        // for each sample; 0: no limit
  int64_t max_memory_mib = 0;  // for each process; 0: no limit
};

// The effects of a pipeline's steps, summed over all samples.
struct Sum {
  std::vector<size_t> changed;
  std::vector<double> seconds;
  std::vector<int64_t> nodes;  // change in the number of nodes, by step
  struct Count {
    size_t count = 0;
    bool is_counted = false;  // as in PassNote
  };
  std::vector<std::map<std::string, Count>> notes;
  std::vector<std::map<std::string, size_t>> warnings;
  explicit Sum(size_t steps)
      : changed(steps), seconds(steps), nodes(steps), notes(steps), warnings(steps) {}
  void Add(const std::vector<StepResult>& results) {
    for (size_t i = 0; i < results.size(); ++i) {
      changed[i] += results[i].changed ? 1 : 0;
      seconds[i] += results[i].seconds;
      nodes[i] += static_cast<int64_t>(results[i].nodes_after) -
                  static_cast<int64_t>(results[i].nodes_before);
      for (const PassNote& note : results[i].notes) {
        if (note.is_warning) {
          warnings[i][note.what] += note.count;
          continue;
        }
        Count& sum = notes[i][note.what];
        sum.count += note.count;
        sum.is_counted |= note.is_counted;
      }
    }
  }
};

// Adds the sums to a report. Returns the warnings.
std::string AddSum(const Pipeline& pipeline, const Sum& sum, size_t samples, bool timing,
                   Report* report) {
  Table table = {{"", "pass"}, {"", "changed"}, {"", "of"}, {"", "nodes"}};
  if (timing) table.AddColumn({"", "ms"});
  for (size_t i = 0; i < pipeline.size(); ++i) {
    table.Add({PrintPipeline({pipeline[i]}), sum.changed[i], samples,
               Cell(sum.nodes[i]).As(absl::StrFormat("%+d", sum.nodes[i])),
               Cell(sum.seconds[i]).As(absl::StrFormat("%.3f", sum.seconds[i] * 1e3))});
  }
  report->Add("", std::move(table));
  std::string warnings;
  for (size_t i = 0; i < pipeline.size(); ++i) {
    for (const auto& [what, note] : sum.notes[i]) {
      const bool says_count = note.is_counted || note.count > 1;
      report->Say(absl::StrCat(pipeline[i].pass->name(), ": ",
                               says_count ? absl::StrCat(note.count, " ") : "",
                               Printable(what, 1000)));
    }
    for (const auto& [what, count] : sum.warnings[i]) {
      absl::StrAppend(&warnings, "warning: ", pipeline[i].pass->name(), ": ",
                      count == 1 ? "" : absl::StrCat("in ", count, " samples: "),
                      Printable(what, 4000), "\n");
    }
  }
  return warnings;
}

absl::StatusOr<OptOutcome> OptOne(const std::string& path, const Output& out,
                                  const Pipeline& pipeline, const OptFlags& options,
                                  Report* weights) {
  LoadOptions load;
  load.trust = options.trust;
  const bool folds_values = FoldsValues(pipeline);
  if (folds_values && !out.path.empty() && !out.keeps_weights()) {
    return absl::InvalidArgumentError(
        "fold-constants{values=true} makes weights, which .pb, .pt2 and .pt can hold");
  }
  // Other passes write calls where the output can hold no new weights.
  const bool keeps_values = !out.path.empty() && out.keeps_weights();
  load.weights = folds_values || keeps_values;
  load.statistics = load.values_if_there = !out.path.empty() && !out.keeps_weights();
  load.values_if_there |= WantsSizes(pipeline);
  if (!out.path.empty()) RETURN_IF_ERROR(CheckOutput(out));
  ASSIGN_OR_RETURN(Sample sample, LoadWithWeights(path, load, *options.weights, weights));
  if (load.weights) {
    ASSIGN_OR_RETURN(const size_t drawn, DrawLacking(&sample));
    if (drawn > 0) weights->Add("drawn_weights", drawn);
  }
  RETURN_IF_ERROR(DescribeAll(options.inputs, /*seed=*/0, &sample));
  PipelineOptions run;
  run.verify_each = options.verify_each;
  run.limit = options.limit;
  if (options.dump_changes) {
    run.on_change = [&](const PipelineStep& step, absl::string_view before,
                        absl::string_view after) {
      const std::string lines =
          absl::StrCat("# ", PrintPipeline({step}), "\n", DiffLines(before, after));
      out.path == "-" ? WriteAside(lines) : WriteOutput(lines);
    };
  }
  OptOutcome outcome;
  ASSIGN_OR_RETURN(outcome.steps,
                   RunPassesByEngine(pipeline, keeps_values, OpenEngine, std::move(run), &sample));
  RETURN_IF_ERROR(Annotate(Verify(*sample.module), "after the passes"));
  if (!out.path.empty()) RETURN_IF_ERROR(SaveSample(sample, out, &outcome.lost));
  return outcome;
}

// Adds for JSON what the passes have done with a sample. Returns "cse -3, dce -12", or an empty text if
// nothing has changed.
std::string Tell(const Output& out, const Pipeline& pipeline, const OptOutcome& outcome,
                 Report* sample) {
  if (!out.path.empty()) sample->Add("out", out.path);
  outcome.lost.AddTo(sample);
  std::string changes;
  std::vector<Report> passes;
  for (size_t i = 0; i < outcome.steps.size(); ++i) {
    const StepResult& result = outcome.steps[i];
    Report& pass = passes.emplace_back();
    pass.Add("pass", PrintPipeline({pipeline[i]}));
    pass.Add("changed", result.changed);
    pass.Add("nodes_before", result.nodes_before);
    pass.Add("nodes_after", result.nodes_after);
    pass.Add("seconds", result.seconds);
    Table notes = {{"kind"}, {"what"}, {"count"}};
    for (const PassNote& note : result.notes)
      notes.Add({note.is_warning ? "warning" : "note", note.what, note.count});
    pass.Add("notes", std::move(notes));
    if (!result.changed) continue;
    absl::StrAppendFormat(
        &changes, "%s%s %+d", changes.empty() ? "" : ", ", pipeline[i].pass->name(),
        static_cast<int64_t>(result.nodes_after) - static_cast<int64_t>(result.nodes_before));
  }
  sample->Add("changed", !changes.empty());
  sample->Add("passes", std::move(passes));
  return changes;
}

// Returns whether a pass that checks has failed.
bool IsFailedCheck(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) && !IsUnusable(status);
}

absl::Duration TimeOf(const OptFlags& options) {
  return options.timeout_s > 0 ? absl::Seconds(options.timeout_s) : absl::InfiniteDuration();
}

// Returns processes of Python, for a pipeline with passes of packages.
absl::StatusOr<std::unique_ptr<OptWorkers>> PythonWorkers(const OptFlags& options) {
  if (options.limit >= 0 || options.dump_changes || !options.inputs.words.empty() ||
      !options.inputs.file.empty() || !OperatorOptions().empty() ||
      !options.weights->file.empty() ||
      AllowedToMiss(MissingValues::kRefused) == MissingValues::kDrawn) {
    return absl::InvalidArgumentError(
        "passes of Python packages: of the options for samples and passes, they go with "
        "--verify-each and --trust alone");
  }
  std::vector<std::string> words = {options.passes};
  if (options.verify_each) words.emplace_back("--verify-each");
  if (options.trust) words.emplace_back("--trust");
  PackageProcess process = PackagePassProcess(words);
  return std::make_unique<OptWorkers>(std::move(process.command), std::move(process.environment),
                                      options.max_memory_mib << 20, TimeOf(options));
}

// Returns processes that run the passes, if they are to run under limits, if a plug-in may crash, or if
// only Python can run them. It is null otherwise.
absl::StatusOr<std::unique_ptr<OptWorkers>> WorkersFor(const Pipeline& pipeline,
                                                       const OptFlags& options) {
  if (HasPackagePass(pipeline)) return PythonWorkers(options);
  const char* const plugins = std::getenv("GRAPHNET_PLUGINS");
  const bool may_crash = plugins != nullptr && *plugins != '\0' && !IsOneSample(options.samples);
  const bool has_limits = options.timeout_s > 0 || options.max_memory_mib > 0;
  // The options exclude limits if there is a checkpoint.
  if (!options.weights->file.empty() || (!has_limits && !may_crash)) return nullptr;
  std::vector<std::string> words = {HostOfTool().tool, "opt", "--serve", "-p", options.passes};
  const auto add = [&](const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  if (options.verify_each) add({"--verify-each"});
  if (options.limit >= 0) add({"--pass-limit", absl::StrCat(options.limit)});
  if (options.trust) add({"--trust"});
  if (AllowedToMiss(MissingValues::kRefused) == MissingValues::kDrawn) add({"--draw-weights"});
  for (const std::string& word : options.inputs.words) add({"--input", word});
  if (!options.inputs.file.empty()) add({"--inputs", options.inputs.file});
  add(OperatorOptions());
  return std::make_unique<OptWorkers>(std::move(words),
                                      std::vector<std::pair<std::string, std::string>>(),
                                      options.max_memory_mib << 20, TimeOf(options));
}

// Runs the passes here, or in one of `workers`, which may be null. What the standard streams hold is
// always processed here.
absl::StatusOr<OptOutcome> RunOne(const std::string& path, const Output& out,
                                  const Pipeline& pipeline, const OptFlags& options,
                                  OptWorkers* workers, Report* weights) {
  if (workers != nullptr && path != "-" && out.path != "-") return workers->Run(path, out);
  return OptOne(path, out, pipeline, options, weights);
}

// Says what became of one of several samples.
struct OptedSample {
  OptOutcome outcome;
  Report weights;
};

absl::StatusOr<CommandResult> OptAll(const Pipeline& pipeline, const OptFlags& options) {
  if (options.dump_changes)
    return absl::InvalidArgumentError("--dump-changes is for one sample, not for several");
  ASSIGN_OR_RETURN(const std::vector<NamedInput> inputs, FindNamedInputs(options.samples));
  ASSIGN_OR_RETURN(const auto outputs, OutputsOf(inputs, options.out));
  Sum sum(pipeline.size());
  Losses lost;
  size_t there = 0;
  ASSIGN_OR_RETURN(const std::unique_ptr<OptWorkers> workers, WorkersFor(pipeline, options));
  std::string aside;
  bool only_checks_failed = true;
  BatchReport made = ReportBatch<OptedSample>(
      inputs, options.jobs,
      [&](const NamedInput& input, OptedSample* opted) -> absl::Status {
        const Output& out = outputs.at(input.path);
        opted->outcome.was_there = options.resume && IsThere(out);
        if (opted->outcome.was_there) return absl::OkStatus();
        ASSIGN_OR_RETURN(opted->outcome, RunOne(input.path, out, pipeline, options, workers.get(),
                                                &opted->weights));
        return absl::OkStatus();
      },
      [&](size_t i, const absl::Status& status, OptedSample& opted, Report* sample) {
        const OptOutcome& outcome = opted.outcome;
        sample->Append(std::move(opted.weights));
        sum.Add(outcome.steps);
        lost.Add(outcome.lost);
        aside += outcome.aside;
        only_checks_failed &= status.ok() || IsFailedCheck(status);
        if (!status.ok()) return;
        const std::string changes = Tell(outputs.at(inputs[i].path), pipeline, outcome, sample);
        if (outcome.was_there) sample->Add("there", true);
        there += outcome.was_there ? 1 : 0;
        if (changes.empty()) return;
        sample->Say(absl::StrCat("changed ", Printable(inputs[i].path, 1000), ": ", changes));
      });
  const auto& [done, failed, unusable] = made.count;
  if (!WantsJson()) {
    made.aside += AddSum(pipeline, sum, done - failed - there, options.timing, &made.report);
  }
  made.report.Say(CountLine(made.count, there));
  made.aside += aside + LossNote(lost, options.out);
  if (!only_checks_failed || failed == 0) return std::move(made).Converted();
  return CommandResult(std::move(made.report), 1, std::move(made.aside));
}

absl::StatusOr<CommandResult> Opt(const OptFlags& options) {
  ASSIGN_OR_RETURN(const Pipeline pipeline, ParseWithPackages(options.passes));
  if (options.serves) {
    RETURN_IF_ERROR(ServeOpt([&](const std::string& path, const Output& out) {
      Report none;
      return OptOne(path, out, pipeline, options, &none);
    }));
    return 0;
  }
  if (!IsOneSample(options.samples)) return OptAll(pipeline, options);
  const std::string& path = options.samples.in[0];
  ASSIGN_OR_RETURN(const std::unique_ptr<OptWorkers> workers, WorkersFor(pipeline, options));
  Report weights;
  const absl::StatusOr<OptOutcome> outcome =
      RunOne(path, options.out, pipeline, options, workers.get(), &weights);
  std::vector<Report> samples = {SampleReport(path, outcome.status())};
  samples[0].Append(std::move(weights));
  if (IsFailedCheck(outcome.status())) {
    std::string failure = WantsJson() ? "" : FailLine(path, outcome.status()) + "\n";
    return CommandResult(SamplesReport(std::move(samples), /*failed=*/1), 1, std::move(failure));
  }
  RETURN_IF_ERROR(outcome.status());
  Tell(options.out, pipeline, *outcome, &samples[0]);
  Report report = SamplesReport(std::move(samples), /*failed=*/0);
  Sum sum(pipeline.size());
  sum.Add(outcome->steps);
  std::string aside = outcome->aside + AddSum(pipeline, sum, 1, options.timing, &report);
  if (WantsJson()) aside.clear();
  return CommandResult(std::move(report), 0, aside + LossNote(outcome->lost, options.out));
}

Report PassesReport() {
  Table passes = {{"pass", "pass"}, {"tier", "tier"}, {"summary", "what it does"}, {"options"}};
  for (const Pass& pass : AllPasses()) {
    const absl::StatusOr<PassDocumentation> documentation = DocumentationOf(pass);
    const bool is_told = documentation.ok();  // A plug-in may register a pass without a word.
    const absl::string_view instead =
        IsPackagePass(pass.name()) ? "a pass of a Python package" : "not documented";
    passes.Add({pass.name(), is_told ? Cell(TierName(documentation->tier)) : Cell(Json()).As("-"),
                is_told ? Cell(documentation->summary) : Cell(Json()).As(std::string(instead)),
                Json::List(pass.options())});
  }
  Report report;
  report.Add("passes", std::move(passes));
  return report;
}

absl::StatusOr<CommandResult> Passes(const std::string& name, bool markdown) {
  if (markdown) {
    const std::string page = PassesPage();
    WriteOutput(page);
    return 0;
  }
  std::string aside;
  if (IsPartOfPackage() && (name.empty() || FindPass(name) == nullptr)) {
    // Without an answer, there are no packages to speak of.
    const absl::Status registered = RegisterPackagePasses();
    if (absl::IsInvalidArgument(registered)) aside = NoteLine(registered.message());
  }
  if (name.empty()) return CommandResult(PassesReport(), 0, std::move(aside));
  const Pass* pass = FindPass(name);
  if (pass == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("there is no pass \"", Printable(name), "\"; `graphnet passes` lists them"));
  }
  ASSIGN_OR_RETURN(const PassDocumentation documentation, DocumentationOf(*pass));
  WriteOutput(PassSection(*pass, documentation));
  return 0;
}

void DeclareOpt(CommandLine& command) {
  auto options = std::make_shared<OptFlags>();
  AddInputList(command, &options->samples);
  command
      .AddOption("--passes,-p", &options->passes,
                 "Passes separated by commas, with options in braces: stabilize{allow=linear},dce")
      .TypeName("PASSES")
      .Required();
  AddOutputOptions(command, &options->out, "", TargetsHelp());
  AddResumeOption(command, &options->resume);
  command.AddFlag("--verify-each", &options->verify_each,
                  "After each pass, verify the graph and what the pass guarantees");
  command.AddFlag("--timing", &options->timing, "Print the time of each pass");
  const Option changes = command.AddFlag("--dump-changes", &options->dump_changes,
                                         "Print the lines that each pass removes and adds");
  command.AddOption("--pass-limit", &options->limit, "Run only this many passes")
      .Range(0, 1'000'000'000);
  const Option weights = AddWeightsOptions(command, options->weights.get());
  command
      .AddOption("--timeout", &options->timeout_s,
                 "Most seconds for a sample, which then runs in a process of its own")
      .Range(0.01, 1e6)
      .Excludes(changes, weights);
  command
      .AddOption("--max-memory", &options->max_memory_mib,
                 "Most MiB for a sample, which then runs in a process of its own")
      .Range(int64_t{1}, int64_t{1} << 30)
      .Excludes(changes, weights);
  command.AddFlag("--serve", &options->serves, "Serve another process of the tool").Group("");
  AddJobsOption(command, &options->jobs);
  AddTrustOption(command, &options->trust);
  AddDrawWeightsOption(command);
  AddInputOptions(command, &options->inputs);
  AddJsonOption(
      command, absl::StrCat("samples with path, out, changed, and for each pass changed, "
                            "nodes_before, nodes_after, seconds, notes; there, if --resume left it "
                            "out; and ",
                            kWeightsMember))
      .Excludes(changes);
  command.Run([options] { return Opt(*options); });
}

const RegisteredCommand kOpt({.name = "opt",
                              .help = "Rewrite samples with passes",
                              .group = CommandGroup::kChange,
                              .declare = DeclareOpt,
                              .examples = {
                                  "graphnet opt samples/resnet.pb -p cse,dce -o smaller.pb",
                                  "graphnet opt samples -p 'change-dtype{to=bf16}' -o half"}});

void DeclarePasses(CommandLine& command) {
  auto name = std::make_shared<std::string>();
  auto markdown = std::make_shared<bool>(false);
  const Option pass = command.AddOption("NAME", name.get(), "Pass to explain").TypeName("PASS");
  const Option page =
      command.AddFlag("--markdown", markdown.get(), "Print docs/passes.md").Excludes(pass);
  AddJsonOption(command, "passes with pass, tier, summary and options").Excludes(pass, page);
  command.Run([name, markdown] { return Passes(*name, *markdown); });
}

const RegisteredCommand kPasses({.name = "passes",
                                 .help = "List the passes, or explain one",
                                 .group = CommandGroup::kChange,
                                 .declare = DeclarePasses,
                                 .examples = {"graphnet passes", "graphnet passes dce"}});

}  // namespace
}  // namespace graphnet
