#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "graphnet/base/memory.h"
#include "graphnet/base/near_miss.h"
#include "graphnet/base/status.h"
#include "graphnet/command/batch.h"
#include "graphnet/command/command.h"
#include "graphnet/command/inputs.h"
#include "graphnet/command/json.h"
#include "graphnet/command/messages.h"
#include "graphnet/command/options.h"
#include "graphnet/command/progress.h"
#include "graphnet/command/weights.h"
#include "graphnet/evaluate/trials.h"
#include "graphnet/extract/folder.h"
#include "graphnet/extract/input_leaves.h"
#include "graphnet/facts/cost/cost_report.h"
#include "graphnet/facts/memory/effects.h"
#include "graphnet/formats/formats.h"
#include "graphnet/formats/pt2/input_check.h"
#include "graphnet/formats/safetensors/safetensors.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/interp/inputs/example_input.h"
#include "graphnet/ir/annotation.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/run/commands/run_cached.h"
#include "graphnet/run/commands/run_outputs.h"
#include "graphnet/run/commands/stability_table.h"
#include "graphnet/run/commands/value_table.h"
#include "graphnet/run/engine.h"

namespace graphnet {
namespace {

struct RunFlags : CachedRunFlags {
  InputList samples;
  std::shared_ptr<WeightsOptions> weights = std::make_shared<WeightsOptions>();
  int jobs = 1;
  std::string state;
  std::string device = "cpu";
  Compat compat = Compat::kGraphNet;
  int threads = 0;
  int64_t max_memory_mib = 0;
  CallKey profile = CallKey::kNone;
  CallKey stats = CallKey::kNone;
  CallKey stability = CallKey::kNone;
  bool csv = false;  // with stats or stability
  bool trusts_files = false;
};

using Clock = std::chrono::steady_clock;

double Milliseconds(Clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

// Sums the time from the end of one node to the end of the next, grouped by `by`.
class Profile {
 public:
  explicit Profile(CallKey by) : by_(by) {}
  void Start() { last_ = Clock::now(); }
  void Add(const Node& node) {
    const Clock::time_point now = Clock::now();
    auto& [time, calls] = entries_[KeyOf(node)];
    time += now - last_;
    ++calls;
    last_ = now;
  }
  // Returns the entries, the most expensive first.
  Table AsTable() const {
    std::vector<std::pair<std::string, std::pair<Clock::duration, size_t>>> rows(entries_.begin(),
                                                                                 entries_.end());
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return a.second.first > b.second.first; });
    Clock::duration total{};
    for (const auto& [name, entry] : rows) total += entry.first;
    const std::string key = KeyName(by_);
    Table table = {{key},           {"ms", "ms"}, {"", "%"}, {"num_calls", "calls"},
                   {"", "us/call"}, {"", key}};
    for (const auto& [name, entry] : rows) {
      const double ms = Milliseconds(entry.first);
      const double percent = 100 * ms / std::max(Milliseconds(total), 1e-9);
      const double us = 1e3 * ms / static_cast<double>(entry.second);
      table.Add({name, Cell(ms).As(absl::StrFormat("%.3f", ms)),
                 Cell(percent).As(absl::StrFormat("%.1f", percent)), entry.second,
                 Cell(us).As(absl::StrFormat("%.2f", us)), name});
    }
    return table;
  }

 private:
  std::string KeyOf(const Node& node) const {
    if (by_ != CallKey::kNode) return GroupOf(by_, node);
    return absl::StrCat("%", node.name(), " = ", node.target());
  }

  const CallKey by_;
  std::map<std::string, std::pair<Clock::duration, size_t>> entries_;
  Clock::time_point last_;
};

// Describes the program that was made ready, and how long that took.
struct Ready {
  std::string text;
  Report report;
  std::string place;  // prefix of errors in runs; may be empty
};

// Runs the program, and writes what the options say.
absl::StatusOr<CommandResult> RunAndReport(const RunFlags& options, ReadyProgram& program,
                                           Ready ready, Progress& progress) {
  Profile profile(options.profile);
  std::function<absl::Status(const Node&)> observer;
  const bool profiles = options.profile != CallKey::kNone;
  if (profiles) {
    RETURN_IF_ERROR(program.WarmUp());
    observer = [&profile](const Node& node) {
      profile.Add(node);
      return absl::OkStatus();
    };
  }
  std::vector<double> times;
  Table values = ValueTable(options.stats, /*has_paths=*/false);
  if (options.stats != CallKey::kNone) {
    const absl::StatusOr<std::vector<MeasuredValue>> measured = program.Measure();
    if (!measured.ok() && !ready.place.empty()) return Annotate(measured.status(), ready.place);
    RETURN_IF_ERROR(measured.status());
    AddValues(*measured, options.stats, "", /*has_paths=*/false, &values);
  }
  Stability digits;
  if (options.stability != CallKey::kNone) {
    ASSIGN_OR_RETURN(digits, program.MeasureDigits());
  }
  const bool is_timed = options.stats == CallKey::kNone && options.stability == CallKey::kNone;
  for (int i = 0; i < options.repeat && is_timed; ++i) {
    if (options.repeat > 1) progress.Say(absl::StrCat("running ", i + 1, "/", options.repeat));
    profile.Start();
    const Clock::time_point start = Clock::now();
    if (const absl::Status ran = program.Run(observer); !ran.ok())
      return ready.place.empty() ? ran : Annotate(ran, ready.place);
    times.push_back(Milliseconds(Clock::now() - start));
  }
  progress.End();
  ASSIGN_OR_RETURN(const TensorValues named, program.Outputs());
  RETURN_IF_ERROR(WriteOutputs(named, options.outputs));
  Report sample = std::move(ready.report);
  if (options.csv) {
    if (options.stability != CallKey::kNone) values = StabilityTable(digits, options.stability);
    Report found;
    found.Say(absl::StripSuffix(values.ToCsv(), "\n"));
    return found;
  }
  if (options.stability != CallKey::kNone) {
    sample.Append(OutputsReport(named));
    AddStability(digits, options.stability, &sample);
    return SamplesReport(options.in, std::move(sample));
  }
  if (options.stats != CallKey::kNone) {
    sample.Append(OutputsReport(named));
    sample.Add("stats", std::move(values));
    return SamplesReport(options.in, std::move(sample));
  }
  const TimeStatistics ran = StatisticsOf(times);
  sample.Append(OutputsReport(named));
  sample.Add("ms", Json::List(times));
  sample.Add("median_ms", ran.median);
  sample.Say(absl::StrFormat(
      "%s, ran in %.2f ms%s", ready.text, ran.median,
      times.size() == 1
          ? ""
          : absl::StrFormat(" (median of %d, from %.2f to %.2f)", times.size(), ran.min, ran.max)));
  if (profiles) sample.Add("profile", profile.AsTable());
  return SamplesReport(options.in, std::move(sample));
}

// Returns the values that the options have for the leaves of an extracted program's inputs, by
// name.
absl::StatusOr<TensorValues> ReadLeaves(const RunFlags& options, const StitchManifest& manifest) {
  const InputLeaves leaves = LeavesOf(manifest);
  std::vector<std::string> known;
  for (const auto& [number, name] : leaves.tensors) known.push_back(name);
  for (const auto& [name, tree] : leaves.constants) known.push_back(name);
  ASSIGN_OR_RETURN(TensorValues given, ReadValues(options.inputs.file, known));
  std::vector<absl::string_view> parameters;
  for (const auto& input : manifest.inputs) parameters.push_back(input.name);
  size_t next = 0;
  for (const std::string& word : options.inputs.words) {
    ASSIGN_OR_RETURN(const ExampleInput input, ParseExampleInput(word, parameters));
    const auto it =
        input.name.empty()
            ? parameters.begin() + static_cast<ptrdiff_t>(std::min(next++, parameters.size()))
            : absl::c_find(parameters, input.name);
    if (it == parameters.end()) {
      return absl::InvalidArgumentError(absl::StrCat("--input ", Printable(word),
                                                     ": there is no input for it",
                                                     NearMissHint(input.name, parameters)));
    }
    RETURN_IF_ERROR(DrawExamples(input, std::string(*it), options.seed, &given));
  }
  return given;
}

// Runs an extracted program, which keeps its state between runs.
absl::StatusOr<CommandResult> RunStitched(const RunFlags& options, const DrawOptions& draw,
                                          const Engine& engine) {
  if (options.device != "cpu") {
    return absl::UnimplementedError(
        "--device: an extracted program runs where it was captured, on the CPU");
  }
  if (!options.state.empty()) {
    return absl::UnimplementedError(
        "--state: the state of an extracted program lies in its subgraphs; run those");
  }
  if (options.max_memory_mib > 0) {
    return absl::UnimplementedError(
        "--max-memory: the memory of an extracted program is not planned; run its subgraphs");
  }
  Progress progress("running");
  const Clock::time_point before = Clock::now();
  ASSIGN_OR_RETURN(ExtractedProgram extracted, ReadExtracted(options.in));
  ASSIGN_OR_RETURN(const TensorValues given, ReadLeaves(options, extracted.manifest));
  const size_t subgraphs = extracted.subgraphs.size();
  const size_t operations = extracted.manifest.steps.size() - subgraphs;
  const auto print = [&](const std::string& text) {
    if (WantsJson() || options.outputs == "-") {
      WriteAside(text);
    } else {
      progress.Print(text);
    }
  };
  ASSIGN_OR_RETURN(
      const std::unique_ptr<ReadyProgram> program,
      engine.PrepareExtracted(std::move(extracted), given, draw, options.trust, print));
  const double ms = Milliseconds(Clock::now() - before);
  Ready ready{absl::StrFormat("%d subgraphs, %d operations between them, ready in %.1f ms",
                              subgraphs, operations, ms),
              {},
              Printable(options.in, 1000)};
  ready.report.Add("subgraphs", subgraphs);
  ready.report.Add("operations", operations);
  ready.report.Add("ready_ms", ms);
  return RunAndReport(options, *program, std::move(ready), progress);
}

// Counts the weights that are drawn because their values are unknown: attributes, and the
// parameters among the inputs. `given` has the values of the sample and of the user.
size_t CountDrawn(const Module& module, const std::map<std::string, TensorData>& given) {
  const auto is_drawn = [&](absl::string_view name, const DrawSpec* spec) {
    return !given.contains(std::string(name)) && (spec == nullptr || spec->data.is_none());
  };
  size_t drawn = 0;
  for (const Attribute& attribute : module.attributes())
    drawn += is_drawn(attribute.name, attribute.draw_spec) ? 1 : 0;
  for (const Node* node : module.main()->placeholders()) {
    if (node->annotation() == kParameterAnnotation)
      drawn += is_drawn(node->target(), node->draw_spec()) ? 1 : 0;
  }
  return drawn;
}

// The metas of the inputs by their names. A module keeps a meta when an input gets another one.
using InputMetas = std::map<std::string, const TensorMeta*>;

InputMetas MetasOfInputs(const Module& module) {
  InputMetas metas;
  for (const Node* node : module.main()->placeholders()) {
    const TensorMeta* meta = node->tensor_meta();
    if (meta != nullptr && meta->has_shape) metas.emplace(node->target(), meta);
  }
  return metas;
}

// Says which inputs have other sizes than the program was made with; empty if none has.
std::string OtherSizes(const InputMetas& made_with, const TensorValues& given) {
  std::string text;
  for (const auto& [name, meta] : made_with) {
    const auto value = given.find(name);
    if (value == given.end()) continue;
    const auto fits = [](const Dim& dim, int64_t size) { return dim.expr || dim.value == size; };
    if (absl::c_equal(meta->shape, value->second.shape, fits)) continue;
    absl::StrAppend(&text, "; the program was made with ", PrintTensorMeta(*meta), " for ",
                    Printable(name));
  }
  return text.empty() ? text : absl::StrCat(text, ": the pass generalize-dims can free its sizes");
}

absl::Status WithEnd(const absl::Status& status, absl::string_view end) {
  return absl::Status(status.code(), absl::StrCat(status.message(), end));
}

// A sample that is ready to run.
struct ReadySample {
  Sample sample;
  std::string other_sizes;  // end of the message if it does not run
  std::unique_ptr<ReadyProgram> program;
  double ms = 0;     // time to make it ready, without loading it and its inputs
  size_t drawn = 0;  // number of drawn weights
};

absl::StatusOr<ReadySample> Prepare(const std::string& path, const RunFlags& options,
                                    const DrawOptions& draw, const Engine& engine,
                                    Report* weights) {
  ReadySample made;
  ASSIGN_OR_RETURN(made.sample, LoadWithWeights(path, {.trust = options.trust, .weights = true},
                                                *options.weights, weights));
  const InputMetas made_with = MetasOfInputs(*made.sample.module);
  ASSIGN_OR_RETURN(auto values, ReadInputs(options.inputs, draw, &made.sample));
  RETURN_IF_ERROR(Annotate(CheckProgramInputs(made.sample, values), Printable(path, 1000)));
  made.drawn = CountDrawn(*made.sample.module, made.sample.weights);
  made.other_sizes = OtherSizes(made_with, values);
  made.sample.weights.clear();
  const Clock::time_point before = Clock::now();
  absl::StatusOr<std::unique_ptr<ReadyProgram>> program = engine.Prepare(
      *made.sample.module, std::move(values),
      {.seed = options.seed,
       .device = options.device,
       .max_bytes = options.max_memory_mib > 0 ? options.max_memory_mib << 20 : draw.max_bytes});
  if (!program.ok()) return WithEnd(program.status(), made.other_sizes);
  made.program = *std::move(program);
  made.ms = Milliseconds(Clock::now() - before);
  return made;
}

// Returns whether a call draws random numbers, or may.
bool IsRandom(const Module& module) {
  const Effects effects(module);
  return absl::c_any_of(module.graphs(), [&](const Graph* graph) {
    return absl::c_any_of(graph->nodes(), [&](const Node* node) {
      return effects.Of(*node).is_random || effects.Of(*node).is_unknown;
    });
  });
}

// Says what became of one of several samples.
struct RanSample {
  Report report;
  Table values = Table({});  // with --stats
};

// Runs several samples. All share PyTorch's generator, so a sample that draws from it runs alone.
absl::StatusOr<CommandResult> RunAll(const RunFlags& options, DrawOptions draw,
                                     const Engine& engine) {
  if (options.repeat > 1 || options.profile != CallKey::kNone || !options.outputs.empty() ||
      !options.state.empty() || options.stability != CallKey::kNone) {
    return absl::InvalidArgumentError(
        "--repeat, --profile, --stability, --out and --state are for one sample, not for several");
  }
  ASSIGN_OR_RETURN(const std::vector<NamedInput> inputs, FindNamedInputs(options.samples));
  draw.max_bytes /= options.jobs;
  std::shared_mutex generator;
  std::string csv;  // rows of all samples
  BatchReport made = ReportBatch<RanSample>(
      inputs, options.jobs,
      [&](const NamedInput& input, RanSample* sample) -> absl::Status {
        sample->values = ValueTable(options.stats, options.csv);
        ASSIGN_OR_RETURN(const ReadySample ready,
                         Prepare(input.path, options, draw, engine, &sample->report));
        const auto run = [&]() -> absl::Status {
          if (options.stats == CallKey::kNone) return ready.program->Run(nullptr);
          ASSIGN_OR_RETURN(const std::vector<MeasuredValue> values, ready.program->Measure());
          AddValues(values, options.stats, input.path, options.csv, &sample->values);
          return absl::OkStatus();
        };
        absl::Status ran;
        if (IsRandom(*ready.sample.module)) {
          const std::unique_lock alone(generator);
          ran = run();
        } else {
          const std::shared_lock together(generator);
          ran = run();
        }
        RETURN_IF_ERROR(ran);
        ASSIGN_OR_RETURN(const TensorValues named, ready.program->Outputs());
        if (WantsJson()) sample->report.Append(OutputsReport(named));
        return absl::OkStatus();
      },
      [&](size_t i, const absl::Status& status, RanSample& ran, Report* sample) {
        if (options.csv) {
          if (!status.ok()) return;
          const std::string rows = ran.values.ToCsv();
          csv += csv.empty() ? rows : rows.substr(rows.find('\n') + 1);
          return;
        }
        sample->Append(std::move(ran.report));
        if (options.stats == CallKey::kNone || !status.ok()) return;
        sample->Say(Printable(inputs[i].path, 1000));
        sample->Add("stats", std::move(ran.values));
      });
  if (options.csv) {
    made.report = Report();
    made.report.Say(absl::StripSuffix(csv, "\n"));
    return std::move(made).Converted();
  }
  made.report.Say(
      absl::StrCat(made.count.done - made.count.failed, " ran, ", made.count.failed, " failed"));
  return std::move(made).Converted();
}

absl::StatusOr<CommandResult> RunGraphs(RunFlags options) {
  if (options.csv && options.stats == CallKey::kNone && options.stability == CallKey::kNone)
    return absl::InvalidArgumentError("--csv: it prints the values of --stats or --stability");
  const bool is_one = IsOneSample(options.samples);
  if (is_one || (options.samples.list.empty() && options.samples.in.size() == 1))
    options.in = options.samples.in[0];
  ASSIGN_OR_RETURN(const Engine* engine, OpenEngine());
  engine->SetNumThreads(options.threads);
  if (options.trusts_files) engine->TrustFiles();
  if (!options.backend.empty()) {
    if (options.in.empty()) return absl::InvalidArgumentError("--backend is for one sample");
    return RunCached(options, *engine);
  }
  DrawOptions draw;
  draw.seed = options.seed;
  draw.max_bytes = AvailableMemoryBytes();
  draw.compat = options.compat;
  if (!options.in.empty() && IsExtracted(options.in) && !options.weights->file.empty())
    return absl::UnimplementedError(
        "--weights: the weights of an extracted program lie in its subgraphs");
  if (!options.in.empty() && IsExtracted(options.in)) return RunStitched(options, draw, *engine);
  if (!is_one) return RunAll(options, draw, *engine);
  Progress progress("running");
  Report weights;
  absl::StatusOr<ReadySample> prepared = Prepare(options.in, options, draw, *engine, &weights);
  if (absl::IsFailedPrecondition(prepared.status()) && !weights.ToJson().members().empty())
    return RefusedWeights(options.in, prepared.status(), std::move(weights));
  ASSIGN_OR_RETURN(const ReadySample made, std::move(prepared));
  const size_t instructions = made.program->num_instructions();
  Ready ready{absl::StrFormat("%d instructions, ready in %.1f ms", instructions, made.ms), {}, ""};
  ready.report.Append(std::move(weights));
  ready.report.Add("instructions", instructions);
  ready.report.Add("ready_ms", made.ms);
  ready.report.Add("drawn_weights", made.drawn);
  if (made.drawn > 0) {
    progress.Note(absl::StrCat("note: ", made.drawn,
                               " weights are drawn, as their values are not there; --weights FILE "
                               "gives them"));
  }
  absl::StatusOr<CommandResult> ran =
      RunAndReport(options, *made.program, std::move(ready), progress);
  if (!ran.ok()) return WithEnd(ran.status(), made.other_sizes);
  CommandResult result = *std::move(ran);
  if (!options.state.empty()) {
    ASSIGN_OR_RETURN(const TensorValues state, made.program->State());
    RETURN_IF_ERROR(WriteSafetensorsFile(state, options.state));
  }
  return result;
}

void DeclareRun(CommandLine& command) {
  auto options = std::make_shared<RunFlags>();
  AddInputList(command, &options->samples);
  AddInputOption(command, &options->inputs.words);
  AddInputsOption(command, &options->inputs.file);
  AddBytesOption(command, &options->outputs,
                 "File for the outputs o0, o1, … (safetensors; - is the standard output)",
                 ",--outputs");
  command
      .AddOption("--state", &options->state,
                 "File for the parameters and buffers after the last run (safetensors)")
      .TypeName("FILE");
  AddSeedOption(command, &options->seed);
  command.AddOption("--device", &options->device, "Device: cpu or cuda:0").ShowDefault();
  const std::map<std::string, Compat> compats = {{"bench", Compat::kBench},
                                                 {"graph_net", Compat::kGraphNet}};
  command.AddChoice("--compat", &options->compat, compats,
                    "Rules by which inputs are drawn (default: graph_net)");
  command.AddOption("--repeat", &options->repeat, "Number of runs").Range(1, 1000000).ShowDefault();
  AddJobsOption(command, &options->jobs);
  AddThreadsOption(command, &options->threads);
  command
      .AddOption("--max-memory", &options->max_memory_mib,
                 "Most MiB that all tensors may take at once; 0: the free memory of the machine")
      .Range(int64_t{0}, int64_t{1} << 30)
      .ShowDefault();
  command.AddChoice(
      "--profile-by", &options->profile, CallKeys(),
      "Print the time of each target, node or module, after a first run that does not count");
  command
      .AddFlag(
          "--profile", [options] { options->profile = CallKey::kTarget; },
          "Same as --profile-by target")
      .Excludes("--profile-by");
  const Option stats =
      command
          .AddChoice(
              "--stats-by", &options->stats, CallKeys(),
              "Print the range, mean and deviation of the finite elements of each value, and "
              "how many elements are zero, nan or infinite, by target, node or module")
          .Excludes("--profile-by", "--profile", "--repeat");
  command
      .AddFlag(
          "--stats", [options] { options->stats = CallKey::kNode; }, "Same as --stats-by node")
      .Excludes(stats, "--profile-by", "--profile", "--repeat");
  const Option stability =
      command
          .AddChoice("--stability-by", &options->stability, CallKeys(),
                     "Print how many digits of each value survive rounding, and which value loses "
                     "most itself, by target, node or module; runs the graph 17 times")
          .Excludes(stats, "--stats", "--profile-by", "--profile", "--repeat", "--state");
  command
      .AddFlag(
          "--stability", [options] { options->stability = CallKey::kNode; },
          "Same as --stability-by node")
      .Excludes(stability, stats, "--stats", "--profile-by", "--profile", "--repeat", "--state");
  const Option csv = command.AddFlag(
      "--csv", &options->csv, "With --stats or --stability: print these values as CSV instead");
  const Option backend =
      command.AddOption("--backend", &options->backend,
                        "Call a TorchScript archive through its captures, whose subgraphs this "
                        "compiler runs (graphnet backends lists the compilers)");
  for (const char* other : {"--state", "--device", "--compat", "--max-memory", "--profile-by",
                            "--stats-by", "--stats", "--stability-by", "--stability"})
    backend.Excludes(other);
  const Option cache =
      command
          .AddOption("--cache", &options->cache,
                     "With --backend: folder that keeps compiled subgraphs for later runs")
          .TypeName("DIR")
          .Needs(backend);
  command
      .AddOption(
          "--cache-size", &options->cache_mib,
          "Most MiB that the cache may take; the least recently used entries are removed first")
      .Range(int64_t{1}, int64_t{1} << 30)
      .ShowDefault()
      .Needs(cache);
  const Option url =
      command
          .AddOption("--cache-url", &options->cache_url,
                     "Cache on a web server to look in before compiling; needs --trust-cache")
          .TypeName("URL")
          .Needs(cache);
  const Option trusted =
      command
          .AddOption("--trust-cache", &options->cache_digest,
                     "Load compiled code from --cache-url if this is the SHA-256 of its index, "
                     "which graphnet backends --index-cache prints")
          .TypeName("SHA256")
          .Needs(url);
  url.Needs(trusted);
  command
      .AddFlag("--check", &options->check,
               "With --backend: compare each call with LibTorch; exit with 1 if one is wrong")
      .Needs(backend);
  AddTrustOption(command, &options->trust);
  AddDrawWeightsOption(command);
  AddWeightsOptions(command, options->weights.get()).Excludes(backend);
  command.AddFlag("--trust-files", &options->trusts_files,
                  "Let graphs read the files that they name (fused.read_file)");
  AddJsonOption(
      command,
      absl::StrCat("samples with path and outputs, and for a single sample ms of each run, "
                   "median_ms, ready_ms, drawn_weights and profile; with --stats stats; with "
                   "--stability stability, most_sensitive and left_out; with --backend calls "
                   "and captures; ",
                   kWeightsMember))
      .Excludes(csv);
  command.Run([options] { return RunGraphs(*options); });
}

const RegisteredCommand kRun({.name = "run",
                              .help = "Run graphs, or an extracted program, without Python",
                              .group = CommandGroup::kRun,
                              .declare = DeclareRun,
                              .examples = {"graphnet run samples/resnet.pt --input f32[8,3,64,64]",
                                           "graphnet run samples/vit.pb --profile --repeat 5"}});

}  // namespace
}  // namespace graphnet
