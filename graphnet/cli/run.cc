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

void RegisterRun(CLI::App& app, CommandRunner* run) {
  auto options = std::make_shared<RunFlags>();
  CLI::App* command = app.add_subcommand("run", "Run graphs, or an extracted program, natively");
  AddSamplesOption(command, &options->in);
  AddInputOption(command, &options->inputs.words);
  AddInputsOption(command, &options->inputs.file);
  AddBytesOption(command, &options->outputs,
                 "Where outputs go (safetensors, - the standard output): o0, o1, …", ",--outputs");
  command
      ->add_option("--state", options->state,
                   "Where parameters and buffers go as the runs have left them (safetensors)")
      ->type_name("FILE");
  AddSeedOption(command, &options->seed);
  command->add_option("--device", options->device, "cpu, cuda:0")->capture_default_str();
  const std::map<std::string, Compat> compats = {{"bench", Compat::kBench},
                                                 {"graph_net", Compat::kGraphNet}};
  AddChoiceOption(command, "--compat", &options->compat, compats,
                  "Whose rules inputs are drawn by (default: graph_net)");
  command->add_option("--repeat", options->repeat, "Run that often")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  AddThreadsOption(command, &options->threads);
  command
      ->add_option("--max-memory", options->max_memory_mib,
                   "MiB that all tensors may take at once; 0: what the machine has free")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 30))
      ->capture_default_str();
  AddChoiceOption(command, "--profile-by", &options->profile, CallKeys(),
                  "Print the time of each target, node or module. A run that does not count goes "
                  "before");
  command
      ->add_flag_callback(
          "--profile", [options] { options->profile = CallKey::kTarget; }, "As --profile-by target")
      ->excludes("--profile-by");
  AddTrustOption(command, &options->trust);
  AddJsonOption(
      command, &options->json,
      "samples with path, outputs, and of one sample ms of each run, median_ms, ready_ms, "
      "drawn_weights and profile");
  command->callback([options, run] {
    *run = [options]() -> absl::StatusOr<int> {
      ASSIGN_OR_RETURN(const Engine* engine, OpenEngine());
      return engine->Run(*options);
    };
  });
}

}  // namespace graphnet
