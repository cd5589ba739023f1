#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/Context.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "graphnet/base/memory.h"
#include "graphnet/base/status.h"
#include "graphnet/cli/batch.h"
#include "graphnet/cli/engine/commands.h"
#include "graphnet/cli/engine/run_stitched.h"
#include "graphnet/cli/inputs.h"
#include "graphnet/cli/json.h"
#include "graphnet/cli/progress.h"
#include "graphnet/evaluate/trials.h"
#include "graphnet/extract/folder.h"
#include "graphnet/extract/stitched.h"
#include "graphnet/formats/formats.h"
#include "graphnet/formats/pt2/input_check.h"
#include "graphnet/formats/safetensors/safetensors.h"
#include "graphnet/inputs/draw.h"
#include "graphnet/interp/executable.h"
#include "graphnet/interp/prepare.h"
#include "graphnet/interp/tensors.h"
#include "graphnet/interp/torch/tensors.h"
#include "graphnet/ir/annotation.h"

namespace graphnet {
namespace {

using Clock = std::chrono::steady_clock;

double Milliseconds(Clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

// The time from one node's end to the next one's, by what `by` says.
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
  using Row = std::pair<std::string, std::pair<Clock::duration, size_t>>;
  // The most expensive first.
  std::vector<Row> rows() const {
    std::vector<Row> rows(entries_.begin(), entries_.end());
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return a.second.first > b.second.first; });
    return rows;
  }
  void Print(FILE* out) const {
    Clock::duration total{};
    for (const auto& [target, entry] : entries_) total += entry.first;
    std::fprintf(out, "%10s %6s %8s %10s  %s\n", "ms", "%", "calls", "us/call",
                 KeyName(by_).c_str());
    for (const auto& [target, entry] : rows()) {
      const double ms = Milliseconds(entry.first);
      std::fprintf(out, "%10.3f %6.1f %8zu %10.2f  %s\n", ms,
                   100 * ms / std::max(Milliseconds(total), 1e-9), entry.second,
                   1e3 * ms / static_cast<double>(entry.second), target.c_str());
    }
  }
  Json AsJson() const {
    Json list = Json::List();
    for (const auto& [target, entry] : rows()) {
      Json row;
      row[KeyName(by_)] = target;
      row["ms"] = Milliseconds(entry.first);
      row["num_calls"] = entry.second;
      list.push_back(std::move(row));
    }
    return list;
  }

 private:
  std::string KeyOf(const Node& node) const {
    if (by_ == CallKey::kTarget) return std::string(node.target());
    if (by_ == CallKey::kModule) return ModuleNameOf(node);
    return absl::StrCat("%", node.name(), " = ", node.target());
  }

  const CallKey by_;
  std::map<std::string, std::pair<Clock::duration, size_t>> entries_;
  Clock::time_point last_;
};

using Outputs = std::map<std::string, TensorData>;

void PrintOutputs(const Outputs& outputs, FILE* out) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorData& data = outputs.at(absl::StrCat("o", i));
    std::fprintf(out, "o%zu  %s[%s]\n", i, std::string(DTypeShortName(data.dtype)).c_str(),
                 absl::StrJoin(data.shape, ", ").c_str());
  }
}

Json OutputsJson(const Outputs& outputs) {
  Json list = Json::List();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string name = absl::StrCat("o", i);
    Json output;
    output["name"] = name;
    output["dtype"] = DTypeShortName(outputs.at(name).dtype);
    output["shape"] = Json::List(outputs.at(name).shape);
    list.push_back(std::move(output));
  }
  return list;
}

// What was made ready, in how long.
struct Ready {
  std::string text;
  Json json;
};

using RunOnce = std::function<absl::StatusOr<std::vector<c10::IValue>>(const Observer&)>;

// Runs, prints and writes what the options ask for. `warm_up` is a run that leaves nothing behind;
// may be null.
absl::StatusOr<int> RunAndReport(const RunFlags& options, const RunOnce& once,
                                 const std::function<absl::Status()>& warm_up, Ready ready,
                                 Progress& progress) {
  Profile profile(options.profile);
  Observer observer;
  const bool profiles = options.profile != CallKey::kNone;
  if (profiles) {
    if (warm_up != nullptr) RETURN_IF_ERROR(warm_up());
    observer = [&profile](const Node& node, const c10::IValue&) {
      profile.Add(node);
      return absl::OkStatus();
    };
  }
  std::vector<double> times;
  std::vector<c10::IValue> outputs;
  for (int i = 0; i < options.repeat; ++i) {
    if (options.repeat > 1) progress.Say(absl::StrCat("running ", i + 1, "/", options.repeat));
    profile.Start();
    const Clock::time_point start = Clock::now();
    ASSIGN_OR_RETURN(outputs, once(observer));
    times.push_back(Milliseconds(Clock::now() - start));
  }
  progress.End();
  ASSIGN_OR_RETURN(const Outputs named, NameOutputs(outputs));
  const bool to_stdout = options.outputs == "-";
  if (to_stdout) {
    ASSIGN_OR_RETURN(const std::string bytes, SerializeSafetensors(named));
    std::fwrite(bytes.data(), 1, bytes.size(), stdout);
  } else if (!options.outputs.empty()) {
    RETURN_IF_ERROR(WriteSafetensorsFile(named, options.outputs));
  }
  const TimeStatistics ran = StatisticsOf(times);
  if (options.json) {
    Json& document = ready.json;
    document["outputs"] = OutputsJson(named);
    document["ms"] = Json::List(times);
    document["median_ms"] = ran.median;
    if (profiles) document["profile"] = profile.AsJson();
    Json sample = SampleJson(options.in, absl::OkStatus());
    sample.Merge(std::move(document));
    PrintJson(SamplesJson({std::move(sample)}, /*failed=*/0));
    return 0;
  }
  FILE* out = to_stdout ? stderr : stdout;
  PrintOutputs(named, out);
  std::fprintf(out, "%s, ran in %.2f ms", ready.text.c_str(), ran.median);
  if (times.size() > 1) {
    std::fprintf(out, " (median of %zu, from %.2f to %.2f)", times.size(), ran.min, ran.max);
  }
  std::fprintf(out, "\n");
  if (profiles) profile.Print(out);
  return 0;
}

// An extracted program. Its state goes on from one run to the next.
absl::StatusOr<int> RunStitched(const RunFlags& options, const DrawOptions& draw) {
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
  ASSIGN_OR_RETURN(const StitchedRun stitched,
                   PrepareStitchedRun(options.in, options.inputs, draw, options.trust));
  const size_t subgraphs = stitched.loaded.stored.subgraphs.size();
  const size_t operations = stitched.loaded.stored.manifest.steps.size() - subgraphs;
  const double ms = Milliseconds(Clock::now() - before);
  Ready ready{absl::StrFormat("%d subgraphs, %d operations between them, ready in %.1f ms",
                              subgraphs, operations, ms)};
  ready.json["subgraphs"] = subgraphs;
  ready.json["operations"] = operations;
  ready.json["ready_ms"] = ms;
  const RunOnce once = [&](const Observer& observer) -> absl::StatusOr<std::vector<c10::IValue>> {
    std::vector<c10::IValue> inputs;
    for (const c10::IValue& input : stitched.inputs) inputs.push_back(input.deepcopy());
    at::manual_seed(options.seed);
    StitchedProgram::RunOptions run;
    run.observer = observer;
    run.print = [&](const std::string& text) {
      if (options.json || options.outputs == "-") {
        std::fputs(text.c_str(), stderr);
      } else {
        progress.Print(text);
      }
    };
    run.custom_operators = options.trust;
    const absl::StatusOr<c10::IValue> result = stitched.loaded.program->Run(inputs, run);
    if (!result.ok()) return Annotate(result.status(), Printable(options.in, 1000));
    return FlattenResult(*result);
  };
  return RunAndReport(options, once, /*warm_up=*/nullptr, std::move(ready), progress);
}

// How many weights were drawn, for lack of their values: attributes, and the parameters among the
// inputs. `given`: values that the sample or the user has.
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

// A sample, ready to run; `ms` is how long that took once it and its inputs were there, `drawn` how
// many of its weights were drawn.
absl::StatusOr<PreparedRun> Prepare(const std::string& path, const RunFlags& options,
                                    const DrawOptions& draw, Sample* sample, double* ms,
                                    size_t* drawn) {
  ASSIGN_OR_RETURN(const c10::Device device, ParseRunDevice(options.device));
  ASSIGN_OR_RETURN(*sample, Load(path, {.trust = options.trust, .weights = true}));
  ASSIGN_OR_RETURN(auto values, ReadInputs(options.inputs, draw, sample));
  RETURN_IF_ERROR(Annotate(CheckProgramInputs(*sample, values), Printable(path, 1000)));
  *drawn = CountDrawn(*sample->module, sample->weights);
  sample->weights.clear();
  PrepareOptions prepare;
  prepare.device = device;
  prepare.max_bytes = options.max_memory_mib > 0 ? options.max_memory_mib << 20 : draw.max_bytes;
  const Clock::time_point before = Clock::now();
  ASSIGN_OR_RETURN(PreparedRun prepared, PrepareRun(*sample->module, std::move(values), prepare));
  *ms = Milliseconds(Clock::now() - before);
  return prepared;
}

// All samples of a folder, one after the other: they share the random generator.
absl::StatusOr<int> RunAll(const RunFlags& options, const DrawOptions& draw) {
  if (options.repeat > 1 || options.profile != CallKey::kNone || !options.outputs.empty() ||
      !options.state.empty()) {
    return absl::InvalidArgumentError(
        "--repeat, --profile, --out and --state are for one sample, not for a folder of them");
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> inputs, FindInputs({options.in}));
  std::vector<Json> samples;
  const BatchCount count = RunBatch<Outputs>(
      inputs, /*jobs=*/1,
      [&](const std::string& path, Outputs* named) -> absl::Status {
        Sample sample;
        double ms = 0;
        size_t drawn = 0;
        ASSIGN_OR_RETURN(const PreparedRun prepared,
                         Prepare(path, options, draw, &sample, &ms, &drawn));
        ASSIGN_OR_RETURN(const std::vector<c10::IValue> outputs,
                         prepared.executable->Run(prepared.inputs, {.seed = options.seed}));
        ASSIGN_OR_RETURN(*named, NameOutputs(outputs));
        return absl::OkStatus();
      },
      [&](size_t i, const absl::Status& status, const Outputs& named) {
        if (!options.json) return FailLine(inputs[i], status);
        Json sample = SampleJson(inputs[i], status);
        if (status.ok()) sample["outputs"] = OutputsJson(named);
        samples.push_back(std::move(sample));
        return std::string();
      });
  if (options.json) {
    PrintJson(SamplesJson(std::move(samples), count.failed));
  } else {
    std::printf("%zu ran, %zu failed\n", count.done - count.failed, count.failed);
  }
  return count.ExitCode();
}

}  // namespace

absl::StatusOr<int> RunGraphs(const RunFlags& options) {
  SetNumThreads(options.threads);
  DrawOptions draw;
  draw.seed = options.seed;
  draw.max_bytes = AvailableMemoryBytes();
  draw.compat = options.compat;
  if (IsExtracted(options.in)) return RunStitched(options, draw);
  if (IsFolderOfSamples(options.in)) return RunAll(options, draw);
  Progress progress("running");
  Sample sample;
  double ms = 0;
  size_t drawn = 0;
  ASSIGN_OR_RETURN(const PreparedRun prepared,
                   Prepare(options.in, options, draw, &sample, &ms, &drawn));
  const size_t instructions = prepared.executable->num_instructions();
  Ready ready{absl::StrFormat("%d instructions, ready in %.1f ms", instructions, ms)};
  ready.json["instructions"] = instructions;
  ready.json["ready_ms"] = ms;
  ready.json["drawn_weights"] = drawn;
  if (drawn > 0) {
    progress.Note(
        absl::StrCat("note: ", drawn, " weights are drawn, as their values are not there"));
  }
  const RunOnce once = [&](const Observer& observer) {
    return prepared.executable->Run(prepared.inputs, {.seed = options.seed, .observer = observer});
  };
  // Attributes that the run writes to are put back.
  const auto warm_up = [&]() -> absl::Status {
    std::vector<std::pair<at::Tensor, at::Tensor>> kept;
    const auto keep = [&](const at::Tensor& tensor) {
      if (tensor.defined()) kept.emplace_back(tensor, tensor.clone());
    };
    for (const auto& [name, tensor] : prepared.attributes) keep(tensor);
    std::vector<c10::IValue> inputs;
    for (const c10::IValue& input : prepared.inputs) inputs.push_back(input.deepcopy());
    RETURN_IF_ERROR(prepared.executable->Run(inputs, {.seed = options.seed}).status());
    for (auto& [tensor, before] : kept) tensor.copy_(before);
    return absl::OkStatus();
  };
  ASSIGN_OR_RETURN(const int code,
                   RunAndReport(options, once, warm_up, std::move(ready), progress));
  if (!options.state.empty()) {
    Outputs state;
    for (const auto& [name, tensor] : prepared.attributes) {
      ASSIGN_OR_RETURN(state[name], ToTensorData(tensor));
    }
    RETURN_IF_ERROR(WriteSafetensorsFile(state, options.state));
  }
  return code;
}

}  // namespace graphnet
