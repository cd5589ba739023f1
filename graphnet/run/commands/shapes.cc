#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/status.h"
#include "graphnet/command/batch.h"
#include "graphnet/command/command.h"
#include "graphnet/command/inputs.h"
#include "graphnet/command/json.h"
#include "graphnet/command/options.h"
#include "graphnet/command/progress.h"
#include "graphnet/facts/cost/cost.h"
#include "graphnet/facts/cost/cost_report.h"
#include "graphnet/formats/formats.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/interp/run_report.h"
#include "graphnet/ir/text/json.h"
#include "graphnet/ir/text/printer.h"
#include "graphnet/run/engine.h"

namespace graphnet {
namespace {

struct ShapesFlags {
  InputList samples;
  InputOptions inputs;
  uint64_t seed = 0;
  CallKey cost = CallKey::kNone;
  int jobs = 0;
  bool check = false;
  bool trust = false;
};

// What is known of one sample.
struct ShapesOutcome {
  Report report;
  std::string aside;   // lines for the standard error
  bool fails = false;  // with --check: a shape is wrong
};

absl::StatusOr<ShapesOutcome> Check(const Engine& engine, const Sample& sample,
                                    TensorValues values) {
  ASSIGN_OR_RETURN(const ShapeCheck check, engine.CheckShapes(*sample.module, std::move(values)));
  ShapesOutcome outcome;
  outcome.report.Add("passed", check.passed);
  outcome.report.Add("failed", check.failed.size());
  outcome.report.Add("wrong", Json::List(check.failed));
  for (const std::string& name : check.failed)
    outcome.report.Say(absl::StrCat(Printable(name), ": the run has another shape or dtype"));
  outcome.report.Say(
      CountLine({.done = check.passed + check.failed.size(), .failed = check.failed.size()}));
  outcome.fails = !check.failed.empty();
  return outcome;
}

absl::StatusOr<ShapesOutcome> ShapesOf(const std::string& path, const ShapesFlags& options,
                                       const Engine& engine) {
  ASSIGN_OR_RETURN(Sample sample, Load(path, {.trust = options.trust, .weights = true}));
  DrawOptions draw;
  draw.seed = options.seed;
  if (!options.check) draw.max_elements = kMaxElementsWithData;
  ASSIGN_OR_RETURN(auto values, ReadInputs(options.inputs, draw, &sample));
  ASSIGN_OR_RETURN(ShapeReport report, engine.InferShapesOf(sample.module.get(), values));
  if (options.check) return Check(engine, sample, std::move(values));
  // Print only the graph: the extra files of a program are long.
  sample.weights.clear();
  sample.extra_files.clear();
  ModuleCost cost = CostOf(*sample.module);
  // The run knows exactly which values share memory.
  cost.alive_bytes = std::move(report.alive_bytes);
  cost.peak_bytes = report.peak_bytes;
  ShapesOutcome made = {.report = OutlineReport(sample)};
  if (options.cost == CallKey::kNone && !WantsJson())
    made.report.Say(absl::StripSuffix(PrintSample(sample), "\n"));
  made.report.Append(CostReport(CostsBy(options.cost, *sample.module, cost)));
  if (WantsJson()) return made;
  made.aside = CostNotes(cost);
  absl::StrAppend(&made.aside, report.nodes, " values, at most ", BytesText(report.peak_bytes),
                  " alive at once; ", CostLine(cost.total), "\n");
  return made;
}

absl::StatusOr<CommandResult> ShowShapes(const ShapesFlags& options) {
  std::vector<NamedInput> inputs;
  const bool is_one = IsOneSample(options.samples);
  if (!is_one) {
    ASSIGN_OR_RETURN(inputs, FindNamedInputs(options.samples));
  }
  ASSIGN_OR_RETURN(const Engine* engine, OpenEngine());
  if (is_one) {
    const Progress progress(options.check ? "running" : "inferring shapes");
    ASSIGN_OR_RETURN(ShapesOutcome one, ShapesOf(options.samples.in[0], options, *engine));
    return CommandResult(std::move(one.report), one.fails ? 1 : 0, std::move(one.aside));
  }
  size_t wrong = 0;
  BatchReport made = ReportBatch<ShapesOutcome>(
      inputs, options.jobs,
      [&](const NamedInput& input, ShapesOutcome* outcome) -> absl::Status {
        ASSIGN_OR_RETURN(*outcome, ShapesOf(input.path, options, *engine));
        return absl::OkStatus();
      },
      [&](size_t i, const absl::Status& status, ShapesOutcome& outcome, Report* sample) {
        if (!status.ok()) return;
        wrong += outcome.fails ? 1 : 0;
        sample->Say(absl::StrCat("# ", Printable(inputs[i].path, 1000)));
        sample->Append(std::move(outcome.report));
      });
  if (made.count.failed == 0 && wrong > 0)
    return CommandResult(std::move(made.report), 1, std::move(made.aside));
  return std::move(made).Converted();
}

void DeclareShapes(CommandLine& command) {
  auto options = std::make_shared<ShapesFlags>();
  AddInputList(command, &options->samples);
  AddInputOption(command, &options->inputs.words);
  AddInputsOption(command, &options->inputs.file);
  command
      .AddOption("--seed", &options->seed,
                 "Seed of the drawn inputs, on whose values shapes may depend")
      .ShowDefault();
  const Option check = command.AddFlag("--check", &options->check,
                                       "Also run the graph and compare the shape of each value");
  command
      .AddChoice("--cost-by,--cost", &options->cost, CallKeys(),
                 "Print a table of costs instead: FLOPs, other operations, bytes moved, bytes "
                 "alive while it runs, and calls of each node, module or target, most FLOPs first")
      .Excludes(check);
  AddJobsOption(command, &options->jobs);
  AddTrustOption(command, &options->trust);
  AddDrawWeightsOption(command);
  AddJsonOption(
      command,
      "the members that show prints, and peak_bytes, flops, other, bytes_moved, "
      "num_calls, num_unknown_calls, open_loops; with --cost-by also costs, one entry "
      "per name; with --check passed, failed and the names that are wrong; of several inputs, "
      "samples with path and these");
  command.Run([options] { return ShowShapes(*options); });
}

const RegisteredCommand kShapes(
    {.name = "shapes",
     .help = "Print a graph with the shape and dtype of each value",
     .group = CommandGroup::kLook,
     .declare = DeclareShapes,
     .examples = {"graphnet shapes samples/resnet.pb --input f32[8,3,64,64]",
                  "graphnet shapes samples/vit.pb --cost-by module",
                  "graphnet shapes samples/vit.pb | graphnet show - -o shapes.html"}});

}  // namespace
}  // namespace graphnet
