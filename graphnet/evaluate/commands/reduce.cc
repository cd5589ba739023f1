#include "graphnet/evaluate/reduce.h"

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "graphnet/base/file.h"
#include "graphnet/base/status.h"
#include "graphnet/command/command.h"
#include "graphnet/command/json.h"
#include "graphnet/command/options.h"
#include "graphnet/command/progress.h"
#include "graphnet/command/save.h"
#include "graphnet/evaluate/commands/bench_options.h"
#include "graphnet/evaluate/reduce_question.h"
#include "graphnet/evaluate/scratch_folder.h"
#include "graphnet/formats/formats.h"
#include "graphnet/ir/graph.h"
#include "graphnet/run/engine.h"
#include "graphnet/run/worker_host.h"

namespace graphnet {
namespace {

struct ReduceFlags {
  std::string in;
  Output out;
  BenchRun run;  // has one backend or none
  std::string command;
  InputOptions inputs;
  double max_time_s = 3600;
};

// Returns NAME_reduced.gn for "somewhere/NAME.pt" or the folder "somewhere/NAME".
std::string DefaultOut(const std::string& in) {
  return absl::StrCat(in == "-" ? "stdin" : WithoutEnding(BaseName(in)), "_reduced.gn");
}

absl::StatusOr<std::unique_ptr<Question>> MakeQuestion(const ReduceFlags& options,
                                                       const std::string& folder) {
  if (!options.command.empty()) {
    if (!absl::StrContains(options.command, "{}")) {
      return absl::InvalidArgumentError(
          "--command: expected {} in place of a sample's path: 'my_compiler {}'");
    }
    return MakeCommandQuestion(options.command, options.run.timeout_s);
  }
  if (options.out.format().read == nullptr)
    return absl::InvalidArgumentError(
        "with --backend, --out must have a format that graphnet can read");
  return MakeBackendQuestion(options.run, folder);
}

Report ReportOf(const SampleSize& size) {
  Report report;
  report.Add("num_operators", size.operators);
  report.Add("num_inputs", size.inputs);
  report.Add("elements", size.elements);
  return report;
}

Report ReportOf(const Reduction& reduction, const std::string& out, const std::string& kept,
                const std::string& note, double seconds) {
  const auto& [operators, inputs, elements] = reduction.before;
  const SampleSize& after = reduction.after;
  Report report;
  report.Add("out", out);
  report.Add("kept", kept);
  report.Add("before", ReportOf(reduction.before));
  report.Add("after", ReportOf(after));
  report.Add("tries", reduction.tries);
  report.Add("seconds", seconds);
  report.Add("minimal", reduction.is_minimal);
  report.Say(absl::StrFormat(
      "operators %d -> %d, inputs %d -> %d, elements %d -> %d; %d tries in %.1f s\nkept: %s",
      operators, after.operators, inputs, after.inputs, elements, after.elements, reduction.tries,
      seconds, kept));
  if (!reduction.is_minimal) report.Say("note: the time was up before the sample was minimal");
  report.AddNotes(note.empty() ? std::vector<std::string>() : std::vector<std::string>{note});
  if (out != "-") report.Say(Printable(out, 1000));
  return report;
}

absl::StatusOr<CommandResult> ReduceSample(ReduceFlags options) {
  if (options.out.path.empty()) options.out.path = DefaultOut(options.in);
  RETURN_IF_ERROR(CheckOutput(options.out));
  const absl::Time begin = absl::Now();
  ASSIGN_OR_RETURN(Sample sample, Load(options.in, {.trust = options.run.trust,
                                                    .weights = options.out.keeps_weights()}));
  const uint64_t seed = options.run.settings.seed;
  RETURN_IF_ERROR(GiveInputs(options.inputs, seed, &sample));
  options.run.host = HostOfTool();
  ASSIGN_OR_RETURN(const std::unique_ptr<ScratchFolder> folder, ScratchFolder::Make());
  ASSIGN_OR_RETURN(const std::unique_ptr<Question> question, MakeQuestion(options, folder->path()));

  // Candidates have the format in which the result will be written.
  Output candidate = options.out;
  candidate.to = options.out.format().name;
  candidate.example_seed.reset();  // The question draws them with its seed.
  candidate.path = JoinPath(folder->path(), absl::StrCat("sample", EndingOf(candidate.format())));
  Progress progress("reducing");
  ReduceOptions reduce;
  bool has_asked = false;
  reduce.is_interesting = [&](const Sample& smaller) -> absl::StatusOr<bool> {
    std::error_code ignored;
    std::filesystem::remove_all(candidate.path, ignored);
    // A sample that the format cannot hold does not count as failing.
    Losses lost;  // The result says what it loses, once.
    if (const absl::Status saved = SaveSample(smaller, candidate, &lost); !saved.ok())
      return has_asked ? absl::StatusOr<bool>(false) : saved;
    has_asked = true;
    return question->Ask(candidate.path);
  };
  std::string note;
  const absl::StatusOr<const Engine*> engine = OpenEngine();
  if (engine.ok()) {
    reduce.observe = ObserverOfTool();
  } else {
    note = absl::StrCat("sizes and numbers are not reduced: ", engine.status().message());
  }
  reduce.seed = seed;
  reduce.deadline = begin + absl::Seconds(options.max_time_s);
  reduce.on_try = [&](const SampleSize& size, int tries) {
    progress.Say(absl::StrCat("reducing: ", size.operators, " operators, ", size.elements,
                              " elements, ", tries, " tries"));
  };
  const SampleSize before = SizeOfSample(sample);
  RETURN_IF_ERROR(ExpandBodies(reduce, &sample));
  ASSIGN_OR_RETURN(Reduction reduction, Reduce(sample, reduce));
  reduction.before = before;
  progress.End();
  options.out.example_seed = seed;
  RETURN_IF_ERROR(SaveSample(reduction.sample, options.out));
  return ReportOf(reduction, options.out.path, question->Kept(), note,
                  absl::ToDoubleSeconds(absl::Now() - begin));
}

void DeclareReduce(CommandLine& command) {
  auto options = std::make_shared<ReduceFlags>();
  options->run.timeout_s = 60;
  BenchSettings& settings = options->run.settings;
  settings.warmup = 0;
  settings.trials = 1;
  AddSampleOption(command, &options->in);
  AddOutputOptions(command, &options->out, "",
                   absl::StrCat(TargetHelp(), " (default: NAME_reduced.gn)"));
  CommandLine what = command.AddOneOf("Failure to keep", "Give one of these");
  what.AddOption("--backend", &settings.backends,
                 "Shrink while bench reports the same failure of this compiler: the status, and "
                 "the reason except for numbers and names")
      .Once()
      .TypeName("NAME");
  what.AddOption("--command", &options->command,
                 "Shrink while this command exits with 0: {} is the path of a sample in the "
                 "format of --out")
      .TypeName("'COMMAND {}'");
  AddExecOptions(command, &settings);
  command.AddOption("--device", &settings.device, "Device: cpu or cuda:0").ShowDefault();
  AddSeedOption(command, &settings.seed);
  AddInputOptions(command, &options->inputs);
  command
      .AddOption("--timeout", &options->run.timeout_s,
                 "Most seconds for compiling, for running, or for the command")
      .Range(0.01, 1e6)
      .ShowDefault();
  command
      .AddOption("--max-time", &options->max_time_s,
                 "Seconds after which the search ends: the smallest sample so far is the result")
      .Range(0.0, 1e9)
      .ShowDefault();
  AddMemoryOption(command, &options->run);
  AddTrustOption(command, &options->run.trust);
  AddDrawWeightsOption(command);
  AddJsonOption(command, "out, kept, before, after, tries, seconds, minimal and notes");
  command.Run([options] { return ReduceSample(*options); });
}

const RegisteredCommand kReduce(
    {.name = "reduce",
     .help = "Shrink a sample on which a compiler fails, so that it still fails in the same way",
     .group = CommandGroup::kJudge,
     .declare = DeclareReduce,
     .examples = {
         "graphnet reduce samples/bert.pb --command 'graphnet find softmax {}' -o small.pb"}});

}  // namespace
}  // namespace graphnet
