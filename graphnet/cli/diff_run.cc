#include <map>
#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "graphnet/base/status.h"
#include "graphnet/cli/command.h"
#include "graphnet/cli/engine.h"
#include "graphnet/cli/inputs.h"
#include "graphnet/cli/json.h"
#include "graphnet/cli/options.h"

namespace graphnet {

void RegisterDiffRun(CLI::App& app, CommandRunner* run) {
  auto options = std::make_shared<DiffRunFlags>();
  CLI::App* command = app.add_subcommand(
      "diff-run", "Run two graphs on the same inputs, each with its own weights, and compare");
  command->add_option("A", options->a, "The first sample, - on the standard input")->required();
  command->add_option("B", options->b, "The second sample")->required();
  AddInputOption(command, &options->inputs.words);
  AddInputsOption(command, &options->inputs.file);
  const std::map<std::string, WeightsOf> weights = {
      {"own", WeightsOf::kOwn}, {"a", WeightsOf::kA}, {"b", WeightsOf::kB}};
  AddChoiceOption(command, "--weights", &options->weights, weights,
                  "Whose weights both run with, where they have the same names, dtypes and shapes");
  AddPictureOption(command, &options->picture,
                   "Draw b, values that differ in red, equal ones in green");
  AddDrawingOptions(command, &options->drawing);
  AddSeedOption(command, &options->seed);
  AddThreadsOption(command, &options->threads);
  AddTrustOption(command, &options->trust);
  AddJsonOption(
      command, &options->json,
      "equal, weights and inputs (compared, different, max_difference, different_dtype, "
      "different_shape), values, different_values, first_difference, and outputs with how they "
      "differ");
  command->callback([options, run] {
    *run = [options]() -> absl::StatusOr<int> {
      ASSIGN_OR_RETURN(const Engine* engine, OpenEngine());
      return engine->DiffRun(*options);
    };
  });
}

}  // namespace graphnet
