#include "graphnet/evaluate/reduce.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "graphnet/base/file.h"
#include "graphnet/base/memory.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/bench_options.h"
#include "graphnet/cli/bench_workers.h"
#include "graphnet/cli/command.h"
#include "graphnet/cli/engine.h"
#include "graphnet/cli/inputs.h"
#include "graphnet/cli/json.h"
#include "graphnet/cli/options.h"
#include "graphnet/cli/progress.h"
#include "graphnet/cli/save.h"
#include "graphnet/cli/scratch_folder.h"
#include "graphnet/evaluate/failure_kind.h"
#include "graphnet/formats/formats.h"
#include "graphnet/ir/graph.h"
#include "graphnet/passes/pipeline.h"

namespace graphnet {
namespace {

struct ReduceFlags {
  std::string in;
  Output out;
  BenchRun run;  // with one backend, or none
  std::string command;
  std::vector<std::string> inputs;
  double max_time_s = 3600;
  bool json = false;
};

// NAME_reduced.gn, of "somewhere/NAME.pt" or the folder "somewhere/NAME".
std::string DefaultOut(const std::string& in) {
  std::string name = in == "-" ? "stdin" : BaseName(in);
  for (const absl::string_view ending : {".pb", ".gn", ".txt", ".pt", ".pth", ".pt2"}) {
    if (absl::EndsWith(name, ending)) name.resize(name.size() - ending.size());
  }
  return absl::StrCat(name, "_reduced.gn");
}

// What a sample must still do.
class Question {
 public:
  virtual ~Question() = default;
  // Of the sample at `path`; the first is the one to be reduced, and an error says why there is
  // nothing to reduce.
  virtual absl::StatusOr<bool> Ask(const std::string& path) = 0;
  // What is kept, once it is known.
  virtual std::string Kept() const = 0;
};

class CommandQuestion final : public Question {
 public:
  CommandQuestion(std::string command, double seconds)
      : command_(std::move(command)), seconds_(seconds) {}

  absl::StatusOr<bool> Ask(const std::string& path) override {
    const std::string quoted = absl::StrCat("'", absl::StrReplaceAll(path, {{"'", "'\\''"}}), "'");
    const std::string command = absl::StrReplaceAll(command_, {{"{}", quoted}});
    ASSIGN_OR_RETURN(const int code, Run(command));
    if (!std::exchange(has_asked_, true) && code != 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("--command exits with ", code,
                       " on the sample itself; with 0 it says that a sample is of interest"));
    }
    return code == 0;
  }
  std::string Kept() const override { return Printable(command_, 1000); }

 private:
  // The exit code, as a shell has it; 124 if it took too long. What it prints goes nowhere.
  absl::StatusOr<int> Run(std::string command) const {
    std::string seconds = absl::StrCat(seconds_);
    std::string words[] = {"timeout", "-k", "1", seconds, "sh", "-c", std::move(command)};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
      posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
    pid_t pid = 0;
    const int error = posix_spawnp(&pid, "timeout", &files, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    if (error != 0) return absl::FailedPreconditionError("--command cannot be started");
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  const std::string command_;
  const double seconds_;
  bool has_asked_ = false;
};

class BackendQuestion final : public Question {
 public:
  BackendQuestion(const BenchRun& run, std::vector<Backend> backends, const std::string& folder)
      : backends_(std::move(backends)), workers_(run, backends_, JoinPath(folder, "workers")) {}

  absl::Status Start() { return workers_.Start(); }

  absl::StatusOr<bool> Ask(const std::string& path) override {
    FailureKind kind;
    RETURN_IF_ERROR(workers_.Run(path, {true}, [&](size_t, const BenchOutcome& outcome) {
      kind = FailureKindOf(outcome.result);
      return absl::OkStatus();
    }));
    if (kept_.has_value()) return kind == *kept_;
    if (kind.outcome == Outcome::kCorrect) {
      return absl::FailedPreconditionError(
          absl::StrCat("nothing to reduce: ", backends_[0].name, " is right on this sample"));
    }
    kept_ = std::move(kind);
    return true;
  }
  std::string Kept() const override {
    return kept_.has_value() ? absl::StrCat(backends_[0].name, ": ", DescribeFailure(*kept_)) : "";
  }

 private:
  const std::vector<Backend> backends_;
  BenchWorkers workers_;
  std::optional<FailureKind> kept_;
};

absl::StatusOr<std::unique_ptr<Question>> MakeQuestion(const ReduceFlags& options,
                                                       const std::string& folder) {
  if (!options.command.empty()) {
    if (!absl::StrContains(options.command, "{}")) {
      return absl::InvalidArgumentError(
          "--command: where the path of a sample goes, it needs {}: 'my_compiler {}'");
    }
    return std::make_unique<CommandQuestion>(options.command, options.run.timeout_s);
  }
  if (options.out.format().read == nullptr)
    return absl::InvalidArgumentError("with --backend, --out is of a format that graphnet reads");
  ASSIGN_OR_RETURN(std::vector<Backend> backends, BackendsOf(options.run.settings));
  auto question = std::make_unique<BackendQuestion>(options.run, std::move(backends), folder);
  RETURN_IF_ERROR(question->Start());
  return question;
}

Json SizeJson(const SampleSize& size) {
  Json json;
  json["num_operators"] = size.operators;
  json["num_inputs"] = size.inputs;
  json["elements"] = size.elements;
  return json;
}

void Tell(const ReduceFlags& options, const Reduction& reduction, const std::string& kept,
          const std::string& note, double seconds) {
  if (options.json) {
    Json document;
    document["out"] = options.out.path;
    document["kept"] = kept;
    document["before"] = SizeJson(reduction.before);
    document["after"] = SizeJson(reduction.after);
    document["tries"] = reduction.tries;
    document["seconds"] = seconds;
    document["minimal"] = reduction.is_minimal;
    document["notes"] = Json::List();
    if (!note.empty()) document["notes"].push_back(note);
    PrintJson(document);
    return;
  }
  FILE* const out = options.out.report();
  const SampleSize& a = reduction.before;
  const SampleSize& b = reduction.after;
  std::fprintf(out,
               "operators %lld -> %lld, inputs %lld -> %lld, elements %lld -> %lld; %d tries in "
               "%.1f s\nkept: %s\n",
               static_cast<long long>(a.operators), static_cast<long long>(b.operators),
               static_cast<long long>(a.inputs), static_cast<long long>(b.inputs),
               static_cast<long long>(a.elements), static_cast<long long>(b.elements),
               reduction.tries, seconds, kept.c_str());
  if (!reduction.is_minimal) std::fprintf(out, "note: the time was up before it was minimal\n");
  if (!note.empty()) std::fprintf(out, "note: %s\n", note.c_str());
  if (options.out.path != "-") std::fprintf(out, "%s\n", Printable(options.out.path, 1000).c_str());
}

bool HasBodies(const Module& module) {
  return absl::c_any_of(module.main()->nodes(), [](const Node* node) { return node->HasBody(); });
}

// The graphs of calls become part of the main one, where that shows the same: what is in them is
// reduced, too.
absl::Status ExpandBodies(const ReduceOptions& reduce, Sample* sample) {
  ASSIGN_OR_RETURN(const bool is_interesting, reduce.is_interesting(*sample));
  if (!is_interesting) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Pipeline pipeline, ParsePipeline("revert-vmap,expand-vmap,dce"));
  std::unique_ptr<Module> original = sample->module->Clone();
  bool is_same = false;
  if (RunPipeline(pipeline, sample).ok()) {
    ASSIGN_OR_RETURN(is_same, reduce.is_interesting(*sample));
  }
  if (!is_same) sample->module = std::move(original);
  return absl::OkStatus();
}

absl::StatusOr<int> ReduceSample(ReduceFlags options) {
  if (options.out.path.empty()) options.out.path = DefaultOut(options.in);
  RETURN_IF_ERROR(CheckOutput(options.out));
  const absl::Time begin = absl::Now();
  ASSIGN_OR_RETURN(Sample sample, Load(options.in, {.trust = options.run.trust,
                                                    .weights = options.out.keeps_weights()}));
  const uint64_t seed = options.run.settings.seed;
  RETURN_IF_ERROR(GiveInputs({.words = options.inputs}, seed, &sample));
  ASSIGN_OR_RETURN(const std::unique_ptr<ScratchFolder> folder, ScratchFolder::Make());
  ASSIGN_OR_RETURN(const std::unique_ptr<Question> question, MakeQuestion(options, folder->path()));

  // Samples are asked about as they will be written.
  Output candidate = options.out;
  candidate.to = options.out.format().name;
  candidate.path = JoinPath(folder->path(), absl::StrCat("sample", EndingOf(candidate.format())));
  Progress progress("reducing");
  ReduceOptions reduce;
  bool has_asked = false;
  reduce.is_interesting = [&](const Sample& smaller) -> absl::StatusOr<bool> {
    std::error_code ignored;
    std::filesystem::remove_all(candidate.path, ignored);
    // What the format cannot hold is not it.
    if (const absl::Status saved = SaveSample(smaller, candidate); !saved.ok())
      return has_asked ? absl::StatusOr<bool>(false) : saved;
    has_asked = true;
    return question->Ask(candidate.path);
  };
  std::string note;
  const absl::StatusOr<const Engine*> engine = OpenEngine();
  if (engine.ok()) {
    reduce.infer = [&](const Sample& smaller, ObservedValues* found) {
      return (*engine)->InferValues(smaller, /*name_sizes=*/false, found);
    };
    reduce.measure = [&](const Sample& smaller, ObservedValues* found) {
      return (*engine)->MeasureValues(
          smaller, {.seed = seed, .max_bytes = AvailableMemoryBytes() / 2}, found);
    };
  } else {
    note = absl::StrCat("sizes and numbers stay as they are: ", engine.status().message());
  }
  reduce.deadline = begin + absl::Seconds(options.max_time_s);
  reduce.on_try = [&](const SampleSize& size, int tries) {
    progress.Say(absl::StrCat("reducing: ", size.operators, " operators, ", size.elements,
                              " elements, ", tries, " tries"));
  };
  const SampleSize before = SizeOfSample(sample);
  if (HasBodies(*sample.module)) RETURN_IF_ERROR(ExpandBodies(reduce, &sample));
  ASSIGN_OR_RETURN(Reduction reduction, Reduce(sample, reduce));
  reduction.before = before;
  progress.End();
  RETURN_IF_ERROR(SaveSample(reduction.sample, options.out));
  Tell(options, reduction, question->Kept(), note, absl::ToDoubleSeconds(absl::Now() - begin));
  return 0;
}

}  // namespace

void RegisterReduce(CLI::App& app, CommandRunner* run) {
  auto options = std::make_shared<ReduceFlags>();
  options->run.timeout_s = 60;
  BenchSettings& settings = options->run.settings;
  settings.warmup = 0;
  settings.trials = 1;
  CLI::App* command = app.add_subcommand(
      "reduce",
      "Make a sample small that a compiler fails on, so that it still fails the same way");
  AddSampleOption(command, &options->in);
  AddOutputOptions(command, &options->out, "",
                   absl::StrCat(TargetHelp(), " (default: NAME_reduced.gn)"));
  CLI::Option_group* what = command->add_option_group("What is kept", "One of");
  what->add_option("--backend", settings.backends,
                   "How bench says that this compiler fails: the status, and the reason but for "
                   "numbers and names")
      ->expected(1)
      ->type_name("NAME");
  what->add_option("--command", options->command,
                   "That this command exits with 0: {} is the path of a sample in the format of "
                   "--out")
      ->type_name("'COMMAND {}'");
  what->require_option(1);
  AddExecOptions(command, &settings);
  command->add_option("--device", settings.device, "cpu, cuda:0")->capture_default_str();
  AddSeedOption(command, &settings.seed);
  AddInputOption(command, &options->inputs);
  command
      ->add_option("--timeout", options->run.timeout_s,
                   "Seconds that compiling may take, or running, or the command")
      ->check(CLI::Range(0.01, 1e6))
      ->check(IsNumber())
      ->capture_default_str();
  command
      ->add_option("--max-time", options->max_time_s,
                   "Seconds after which nothing more is tried: what is smallest by then is the "
                   "result")
      ->check(CLI::Range(0.0, 1e9))
      ->check(IsNumber())
      ->capture_default_str();
  AddMemoryOption(command, &options->run);
  AddTrustOption(command, &options->run.trust);
  AddJsonOption(command, &options->json,
                "out, kept, before, after, tries, seconds, minimal and notes");
  command->callback([options, run] { *run = [options] { return ReduceSample(*options); }; });
}

}  // namespace graphnet
