#include <map>
#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "graphnet/base/status.h"
#include "graphnet/cli/command.h"
#include "graphnet/cli/costs.h"
#include "graphnet/cli/engine.h"
#include "graphnet/cli/inputs.h"
#include "graphnet/cli/json.h"
#include "graphnet/cli/options.h"

namespace graphnet {

void RegisterShapes(CLI::App& app, CommandRunner* run) {
  auto options = std::make_shared<ShapesFlags>();
  CLI::App* command =
      app.add_subcommand("shapes", "Print a graph with the shape and dtype of each value");
  AddSampleOption(command, &options->in);
  AddInputOption(command, &options->inputs.words);
  AddInputsOption(command, &options->inputs.file);
  command->add_option("--seed", options->seed, "Of drawn inputs, on whose data shapes may depend")
      ->capture_default_str();
  CLI::Option* check = command->add_flag("--check", options->check,
                                         "Run the graph too and compare each value's shape");
  AddChoiceOption(command, "--cost-by,--cost", &options->cost, CallKeys(),
                  "Print a table instead: what each node, module or target costs in FLOPs, other "
                  "operations, bytes moved, bytes alive while it runs, and calls, most FLOPs first")
      ->excludes(check);
  AddTrustOption(command, &options->trust);
  AddJsonOption(
      command, &options->json,
      "as show has it, peak_bytes, flops, other, bytes_moved, num_calls, num_unknown_calls, "
      "open_loops, with --cost-by costs, of a name each; with --check passed, failed and the names "
      "that are wrong");
  command->callback([options, run] {
    *run = [options]() -> absl::StatusOr<int> {
      ASSIGN_OR_RETURN(const Engine* engine, OpenEngine());
      return engine->Shapes(*options);
    };
  });
}

}  // namespace graphnet
