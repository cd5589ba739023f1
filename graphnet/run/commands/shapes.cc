#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/base/status.h"
#include "graphnet/command/batch.h"
#include "graphnet/command/command.h"
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
  std::string in;
  InputOptions inputs;
  uint64_t seed = 0;
  CallKey cost = CallKey::kNone;
  bool check = false;
  bool trust = false;
};

absl::StatusOr<CommandResult> Check(const Engine& engine, const Sample& sample,
                                    TensorValues values) {
  ShapeCheck check;
  {
    const Progress progress("running");
    ASSIGN_OR_RETURN(check, engine.CheckShapes(*sample.module, std::move(values)));
  }
  Report report;
  report.Add("passed", check.passed);
  report.Add("failed", check.failed.size());
  report.Add("wrong", Json::List(check.failed));
  for (const std::string& name : check.failed)
    report.Say(absl::StrCat(Printable(name), ": the run has another shape or dtype"));
  report.Say(
      CountLine({.done = check.passed + check.failed.size(), .failed = check.failed.size()}));
  return CommandResult(std::move(report), check.failed.empty() ? 0 : 1);
}

absl::StatusOr<CommandResult> ShowShapes(const ShapesFlags& options) {
  ASSIGN_OR_RETURN(const Engine* engine, OpenEngine());
  ASSIGN_OR_RETURN(Sample sample, Load(options.in, {.trust = options.trust, .weights = true}));
  DrawOptions draw;
  draw.seed = options.seed;
  if (!options.check) draw.max_elements = kMaxElementsWithData;
  ASSIGN_OR_RETURN(auto values, ReadInputs(options.inputs, draw, &sample));
  ShapeReport report;
  {
    const Progress progress("inferring shapes");
    ASSIGN_OR_RETURN(report, engine->InferShapesOf(sample.module.get(), values));
  }
  if (options.check) return Check(*engine, sample, std::move(values));
  // Print only the graph: the extra files of a program are long.
  sample.weights.clear();
  sample.extra_files.clear();
  ModuleCost cost = CostOf(*sample.module);
  // The run knows exactly which values share memory.
  cost.alive_bytes = std::move(report.alive_bytes);
  cost.peak_bytes = report.peak_bytes;
  Report made = OutlineReport(sample);
  if (options.cost == CallKey::kNone && !WantsJson())
    made.Say(absl::StripSuffix(PrintSample(sample), "\n"));
  made.Append(CostReport(CostsBy(options.cost, *sample.module, cost)));
  if (WantsJson()) return made;
  std::string aside = CostNotes(cost);
  absl::StrAppend(&aside, report.nodes, " values, at most ", BytesText(report.peak_bytes),
                  " alive at once; ", CostLine(cost.total), "\n");
  return CommandResult(std::move(made), 0, std::move(aside));
}

void DeclareShapes(CommandLine& command) {
  auto options = std::make_shared<ShapesFlags>();
  AddSampleOption(command, &options->in);
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
  AddTrustOption(command, &options->trust);
  AddDrawWeightsOption(command);
  AddJsonOption(command,
                "the members that show prints, and peak_bytes, flops, other, bytes_moved, "
                "num_calls, num_unknown_calls, open_loops; with --cost-by also costs, one entry "
                "per name; with --check passed, failed and the names that are wrong");
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
