#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "CLI/CLI.hpp"
#include "graphnet/base/status.h"
#include "graphnet/cli/batch.h"
#include "graphnet/cli/command.h"
#include "graphnet/cli/costs.h"
#include "graphnet/cli/engine.h"
#include "graphnet/cli/inputs.h"
#include "graphnet/cli/json.h"
#include "graphnet/cli/messages.h"
#include "graphnet/cli/options.h"
#include "graphnet/cli/progress.h"
#include "graphnet/facts/cost/cost.h"
#include "graphnet/formats/formats.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/interp/run_report.h"
#include "graphnet/ir/text/printer.h"

namespace graphnet {
namespace {

struct ShapesFlags {
  std::string in;
  InputOptions inputs;
  uint64_t seed = 0;
  CallKey cost = CallKey::kNone;
  bool check = false;
  bool trust = false;
  bool json = false;
};

absl::StatusOr<int> Check(const Engine& engine, const Sample& sample, TensorValues values,
                          bool json) {
  ShapeCheck check;
  {
    const Progress progress("running");
    ASSIGN_OR_RETURN(check, engine.CheckShapes(*sample.module, std::move(values)));
  }
  if (json) {
    Json document;
    document["passed"] = check.passed;
    document["failed"] = check.failed.size();
    document["wrong"] = Json::List(check.failed);
    PrintJson(document);
  } else {
    for (const std::string& name : check.failed)
      std::printf("%s: the run has another shape or dtype\n", Printable(name).c_str());
    PrintCount({.done = check.passed + check.failed.size(), .failed = check.failed.size()});
  }
  return check.failed.empty() ? 0 : 1;
}

absl::StatusOr<int> ShowShapes(const ShapesFlags& options) {
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
  if (options.check) return Check(*engine, sample, std::move(values), options.json);
  // Print only the graph: the extra files of a program are long.
  sample.weights.clear();
  sample.extra_files.clear();
  ModuleCost cost = CostOf(*sample.module);
  // The run knows exactly which values share memory.
  cost.alive_bytes = std::move(report.alive_bytes);
  cost.peak_bytes = report.peak_bytes;
  const Report costs = CostReport(CostsBy(options.cost, *sample.module, cost));
  if (options.json) {
    Json document = OutlineJson(sample);
    document.Merge(costs.ToJson());
    PrintJson(document);
    return 0;
  }
  if (options.cost == CallKey::kNone) {
    std::fputs(PrintSample(sample).c_str(), stdout);
  } else {
    PrintReport(costs, /*json=*/false);
  }
  PrintCostNotes(cost);
  PrintSummary(absl::StrCat(report.nodes, " values, at most ", BytesText(report.peak_bytes),
                            " alive at once; ", CostLine(cost.total)));
  return 0;
}

}  // namespace

void RegisterShapes(CLI::App& app, CommandRunner* run) {
  auto options = std::make_shared<ShapesFlags>();
  CLI::App* command =
      app.add_subcommand("shapes", "Print a graph with the shape and dtype of each value");
  AddSampleOption(command, &options->in);
  AddInputOption(command, &options->inputs.words);
  AddInputsOption(command, &options->inputs.file);
  command
      ->add_option("--seed", options->seed,
                   "Seed of the drawn inputs, on whose values shapes may depend")
      ->capture_default_str();
  CLI::Option* check = command->add_flag("--check", options->check,
                                         "Also run the graph and compare the shape of each value");
  AddChoiceOption(command, "--cost-by,--cost", &options->cost, CallKeys(),
                  "Print a table of costs instead: FLOPs, other operations, bytes moved, bytes "
                  "alive while it runs, and calls of each node, module or target, most FLOPs first")
      ->excludes(check);
  AddTrustOption(command, &options->trust);
  AddDrawWeightsOption(command);
  AddJsonOption(command, &options->json,
                "the members that show prints, and peak_bytes, flops, other, bytes_moved, "
                "num_calls, num_unknown_calls, open_loops; with --cost-by also costs, one entry "
                "per name; with --check passed, failed and the names that are wrong");
  command->callback([options, run] { *run = [options] { return ShowShapes(*options); }; });
}

}  // namespace graphnet
