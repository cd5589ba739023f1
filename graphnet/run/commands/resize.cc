#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/file.h"
#include "graphnet/base/json.h"
#include "graphnet/base/memory.h"
#include "graphnet/base/parallel.h"
#include "graphnet/base/status.h"
#include "graphnet/command/batch.h"
#include "graphnet/command/command.h"
#include "graphnet/command/inputs.h"
#include "graphnet/command/json.h"
#include "graphnet/command/options.h"
#include "graphnet/formats/formats.h"
#include "graphnet/formats/graphnet_folder/reader.h"
#include "graphnet/passes/pipeline.h"
#include "graphnet/passes/resize/find_symbols.h"
#include "graphnet/passes/resize/resize_plan.h"
#include "graphnet/passes/resize/size_table.h"
#include "graphnet/run/engine.h"
#include "graphnet/run/infer_sizes.h"
#include "graphnet/run/trial_run.h"

namespace graphnet {
namespace {

struct ResizeFlags {
  InputList inputs;
  std::string sizes = "auto";
  std::string out;
  std::string dtype;
  bool symbols = false;
  bool resume = false;
  bool no_run = false;
  int64_t max_memory_mib = 0;
  double max_gflop = 0;
  int jobs = 0;
  bool trust = false;
};

// What became of one row of one sample.
enum class RowState : uint8_t { kRan, kNotRun, kThere, kRefused };

struct RowOutcome {
  size_t index = 0;
  std::vector<int64_t> sizes;
  RowState state = RowState::kRefused;
  std::string cause;  // why it was refused, or not run
};

struct ResizeOutcome {
  std::vector<RowOutcome> rows;
  size_t numbers = 0;
  size_t tables = 0;
};

const char* NameOf(RowState state) {
  switch (state) {
    case RowState::kRan: return "ran";
    case RowState::kNotRun: return "not run";
    case RowState::kThere: return "there";
    case RowState::kRefused: return "refused";
  }
  return "";
}

// Returns OUT/INDEX/NAME, OUT/DTYPE/INDEX/NAME, or OUT/NAME.
std::string PathOf(absl::string_view index, const NamedInput& input, const ResizeFlags& options) {
  if (options.symbols) return JoinPath(options.out, input.name);
  const std::string out =
      options.dtype.empty() ? options.out : JoinPath(options.out, options.dtype);
  return JoinPath(JoinPath(out, index), input.name);
}

class Resizer {
 public:
  Resizer(const Engine& engine, const SizeTable& table, const ResizeFlags& options)
      : engine_(engine), table_(table), options_(options) {
    const int jobs = options.jobs > 0 ? options.jobs : NumCpus();
    limits_.max_bytes = options.max_memory_mib > 0 ? options.max_memory_mib << 20
                                                   : AvailableMemoryBytes() / 2 / jobs;
    if (options.max_gflop > 0) limits_.max_flops = options.max_gflop * 1e9;
  }

  absl::Status Resize(const NamedInput& input, ResizeOutcome* outcome) const {
    LoadOptions load;
    load.trust = options_.trust;
    load.statistics = load.values_if_there = true;
    ASSIGN_OR_RETURN(Sample sample, Load(input.path, load));
    if (options_.symbols) return GiveSymbols(input, &sample, outcome);
    if (!options_.dtype.empty()) RETURN_IF_ERROR(ChangeDType(&sample));
    ASSIGN_OR_RETURN(const auto rows, table_.RowsFor(*sample.module, sample.graph_net_json));
    for (size_t i = 0; i < rows.size(); ++i)
      outcome->rows.push_back({.index = i, .sizes = rows[i]});
    if (options_.resume) {
      bool all = true;
      for (RowOutcome& row : outcome->rows) {
        const bool is_there = IsGraphNetFolder(PathOf(row, input));
        if (is_there) row.state = RowState::kThere;
        all &= is_there;
      }
      if (all) return absl::OkStatus();
    }
    const InferSizes infer = InferSizesBy(engine_, sample);
    const std::unique_ptr<ResizePlan> plan = [&]() -> std::unique_ptr<ResizePlan> {
      absl::StatusOr<std::unique_ptr<ResizePlan>> made = ResizePlan::Make(&sample, rows, infer);
      if (made.ok()) return *std::move(made);
      for (RowOutcome& row : outcome->rows) {
        if (row.state != RowState::kThere) row.cause = CauseOf(input.path, made.status().message());
      }
      return nullptr;
    }();
    if (plan == nullptr) return absl::OkStatus();
    outcome->numbers = plan->num_numbers();
    outcome->tables = plan->num_tables();
    sample.graph_hash.clear();
    TrialRun trial(engine_, &sample);
    for (RowOutcome& row : outcome->rows) {
      if (row.state == RowState::kThere) continue;
      const absl::Status made =
          Make(*plan, infer, row, input, &sample, &trial, &row.state, &row.cause);
      if (!made.ok()) row.cause = CauseOf(input.path, made.message());
    }
    return absl::OkStatus();
  }

 private:
  std::string PathOf(const RowOutcome& row, const NamedInput& input) const {
    return graphnet::PathOf(absl::StrCat(row.index), input, options_);
  }

  // Changes the dtype as GraphNet does: not that of what norms hold, and only if graph_net.json,
  // where it lists dtypes, lists this one.
  absl::Status ChangeDType(Sample* sample) const {
    Json json = Json::Parse(sample->graph_net_json);
    if (!json.is_object()) json = Json::Object();
    const Json& listed = json["data_type_generalization_passes"];
    const std::string wanted = absl::StrCat("dtype_generalization_pass_", options_.dtype);
    if (listed.is_list() && !absl::StrContains(listed.Dump(), absl::StrCat("\"", wanted, "\""))) {
      return absl::FailedPreconditionError(absl::StrCat("graph_net.json does not list ", wanted));
    }
    ASSIGN_OR_RETURN(
        const Pipeline pipeline,
        ParsePipeline(absl::StrCat("change-dtype{keep=norm,to=", options_.dtype, "}")));
    RETURN_IF_ERROR(RunPipeline(pipeline, sample).status());
    json["dtype_generalization_target_dtype"] = options_.dtype;
    json["dtype_generalization_precision"] = options_.dtype;
    json["dtype_generalization_generated"] = true;
    sample->graph_net_json = json.Dump(4);
    return absl::OkStatus();
  }

  // Writes a sample with symbols, as OUT/NAME.
  absl::Status GiveSymbols(const NamedInput& input, Sample* sample, ResizeOutcome* outcome) const {
    RowOutcome& row = outcome->rows.emplace_back();
    const InferSizes infer = InferSizesBy(engine_, *sample);
    const Module* tried = nullptr;
    std::unique_ptr<TrialRun> trial;
    bool all_ran = true;
    const absl::Status found =
        FindSymbols(sample, infer, [&](Sample* one, ResizePlan* plan, size_t at) -> absl::Status {
          if (tried != one->module.get()) trial = std::make_unique<TrialRun>(engine_, one);
          tried = one->module.get();
          absl::Status ran =
              options_.no_run ? absl::ResourceExhaustedError("") : trial->Run(limits_);
          if (!absl::IsResourceExhausted(ran)) return ran;
          all_ran = false;
          return plan->Check(at, infer);
        });
    if (!found.ok()) {
      row.cause = CauseOf(input.path, found.message());
      return absl::OkStatus();
    }
    for (const Symbol& symbol : sample->module->symbols()) row.sizes.push_back(*symbol.example);
    for (Node* node : sample->module->main()->nodes()) {
      if (node->is_call()) node->set_meta(nullptr);
    }
    sample->graph_hash.clear();
    RETURN_IF_ERROR(Save(*sample, PathOf(row, input), {.format = "graphnet"}));
    row.state = all_ran ? RowState::kRan : RowState::kNotRun;
    return absl::OkStatus();
  }

  absl::Status Make(ResizePlan& plan, const InferSizes& infer, const RowOutcome& row,
                    const NamedInput& input, Sample* sample, TrialRun* trial, RowState* state,
                    std::string* cause) const {
    RETURN_IF_ERROR(plan.status(row.index));
    RETURN_IF_ERROR(plan.Apply(row.index));
    RowState reached = RowState::kNotRun;
    if (!options_.no_run) {
      absl::Status ran = trial->Run(limits_);
      if (ran.ok()) {
        reached = RowState::kRan;
        cause->clear();
      } else if (absl::IsResourceExhausted(ran)) {
        RETURN_IF_ERROR(plan.Check(row.index, infer));
        *cause = "too large for a run; its sizes were inferred";
      } else {
        return ran;
      }
    }
    RETURN_IF_ERROR(Save(*sample, PathOf(row, input), {.format = "graphnet"}));
    *state = reached;
    return absl::OkStatus();
  }

  const Engine& engine_;
  const SizeTable& table_;
  const ResizeFlags& options_;
  TrialLimits limits_;
};

absl::StatusOr<CommandResult> Resize(const ResizeFlags& options) {
  ASSIGN_OR_RETURN(const SizeTable table, SizeTable::Open(options.sizes));
  ASSIGN_OR_RETURN(const std::vector<NamedInput> inputs, FindNamedInputs(options.inputs));
  ASSIGN_OR_RETURN(const Engine* engine, OpenEngine());
  if (options.jobs != 1) engine->SetNumThreads(1);
  const Resizer resizer(*engine, table, options);
  ReservedPaths taken;
  for (const NamedInput& input : inputs)
    RETURN_IF_ERROR(ReservePath(PathOf("INDEX", input, options), input.path, &taken));
  std::map<RowState, size_t> rows;
  std::map<std::string, size_t> causes;
  std::vector<Report> reports(WantsJson() ? inputs.size() : 0);
  const BatchCount count = RunBatch<ResizeOutcome>(
      inputs, options.jobs,
      [&](const NamedInput& input, ResizeOutcome* outcome) {
        return resizer.Resize(input, outcome);
      },
      [&](size_t i, const absl::Status& status, ResizeOutcome& outcome) -> std::string {
        Table table_of_rows = {{"index"}, {"sizes"}, {"state"}, {"cause"}};
        std::map<std::string, size_t> refused;
        for (const RowOutcome& row : outcome.rows) {
          ++rows[row.state];
          if (!row.cause.empty()) {
            ++causes[absl::StrCat(NameOf(row.state), ": ", row.cause)];
            if (row.state == RowState::kRefused) ++refused[row.cause];
          }
          table_of_rows.Add({row.index, Json::List(row.sizes), NameOf(row.state),
                             row.cause.empty() ? Cell() : Cell(row.cause)});
        }
        if (!status.ok())
          ++causes[absl::StrCat("failed: ", CauseOf(inputs[i].path, status.message()))];
        if (WantsJson()) {
          reports[i] = SampleReport(inputs[i].path, status);
          reports[i].Add("numbers", outcome.numbers);
          reports[i].Add("tables", outcome.tables);
          reports[i].Add("rows", std::move(table_of_rows));
          return "";
        }
        std::string lines;
        for (const auto& [cause, times] : refused) {
          absl::StrAppend(&lines, lines.empty() ? "" : "\n", "refused ",
                          Printable(inputs[i].path, 1000), ": ", times, " of ", outcome.rows.size(),
                          ": ", Printable(cause, 1000));
        }
        return lines;
      });
  Report report = SamplesReport(std::move(reports), count.failed);
  Table summary = {{"", "results"}, {"", "cause"}};
  std::vector<std::pair<size_t, std::string>> sorted;
  for (const auto& [cause, times] : causes) sorted.emplace_back(times, cause);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [times, cause] : sorted) summary.Add({times, cause});
  if (!sorted.empty()) report.Add("", std::move(summary));
  report.Add("ran", rows[RowState::kRan]);
  report.Add("not_run", rows[RowState::kNotRun]);
  report.Add("there", rows[RowState::kThere]);
  report.Add("refused", rows[RowState::kRefused]);
  report.Say(absl::StrCat(rows[RowState::kRan], " results ran, ", rows[RowState::kNotRun],
                          " written without a run, ", rows[RowState::kThere], " there before, ",
                          rows[RowState::kRefused], " refused"));
  report.Say(CountLine(count));
  const int code = count.ExitCode() != 0 ? count.ExitCode() : rows[RowState::kRefused] > 0 ? 1 : 0;
  return CommandResult(std::move(report), code);
}

void DeclareResize(CommandLine& command) {
  auto options = std::make_shared<ResizeFlags>();
  AddInputList(command, &options->inputs);
  const Option symbols = command.AddFlag(
      "--symbols", &options->symbols,
      "Instead, give samples without symbols those that three sizes prove: the batch, and other "
      "sizes that inputs share; results are OUT/NAME");
  command
      .AddOption("--sizes", &options->sizes,
                 "Table of sizes: nlp (batch, length), cv (batch, side), vit (side), a file with a "
                 "line of sizes for each result, or auto, the one that graph_net.json names")
      .TypeName("nlp|cv|vit|auto|FILE")
      .ShowDefault()
      .Excludes(symbols);
  command
      .AddChoice(
          "--dtype", &options->dtype, {"bfloat16", "float16"},
          "Change floating-point tensors to this dtype, too, but not what norms hold; results "
          "are OUT/DTYPE/INDEX/NAME")
      .Excludes(symbols);
  AddFolderOption(command, &options->out, "Folder for the results, OUT/INDEX/NAME").Required();
  AddResumeOption(command, &options->resume);
  const Option no_run =
      command.AddFlag("--no-run", &options->no_run,
                      "Write results without running them; otherwise those that fail, or give nan "
                      "or infinity, are refused");
  command
      .AddOption("--max-memory", &options->max_memory_mib,
                 "Memory that a run may take, in MiB; larger results are written without a run "
                 "(default: half of what is free, for all threads)")
      .Positive()
      .Excludes(no_run);
  command
      .AddOption("--max-gflop", &options->max_gflop,
                 "Operations that a run may take, in billions; larger results are written without "
                 "a run")
      .Positive()
      .Excludes(no_run);
  AddJobsOption(command, &options->jobs);
  AddTrustOption(command, &options->trust);
  AddDrawWeightsOption(command);
  AddJsonOption(command,
                "samples with path, numbers (that follow), tables (that grow) and rows with index, "
                "sizes, state and cause; ran, not_run, there, refused");
  command.Run([options] { return Resize(*options); });
}

const RegisteredCommand kResize({.name = "resize",
                                 .help = "Write samples at other sizes of their inputs",
                                 .group = CommandGroup::kChange,
                                 .declare = DeclareResize,
                                 .examples = {
                                     "graphnet opt samples/vit.pb -p generalize-dims -o vit.gn && "
                                     "graphnet resize vit.gn --sizes cv -o batches"}});

}  // namespace
}  // namespace graphnet
