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

void RegisterExtract(CLI::App& app, CommandRunner* run) {
  auto options = std::make_shared<ExtractFlags>();
  CLI::App* command =
      app.add_subcommand("extract", "Capture the subgraphs of a TorchScript program");
  command->add_option("IN", options->in, "TorchScript archive")->required();
  AddFolderOption(command, &options->out, "Folder for the subgraphs", ",--output")->required();
  AddInputOption(command, &options->inputs.words);
  AddInputsOption(command, &options->inputs.file);
  command
      ->add_option("--break-on", options->break_on,
                   "Operators that end a subgraph: nonzero,aten::unique")
      ->delimiter(',');
  command->add_option("--dynamic", options->dynamic,
                      "Sizes that may change: input, dimension and name, 0:0=batch");
  command->add_flag("--cond", options->cond,
                    "Capture branches on what tensors hold as torch.cond where that can be");
  const std::map<std::string, ExtractFormat> formats = {
      {"protobuf", ExtractFormat::kProtobuf}, {"graphnet", ExtractFormat::kGraphNetFolder}};
  AddChoiceOption(command, "--to,--format", &options->format, formats,
                  "What subgraphs are written as (default: protobuf)");
  AddSeedOption(command, &options->seed);
  command
      ->add_option(
          "--max-unroll", options->max_unroll,
          "Turns of a loop that are captured one by one; of more, a while_loop if possible")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40))
      ->capture_default_str();
  command
      ->add_option("--max-steps", options->max_steps,
                   "Steps of the program before it counts as endless")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40))
      ->capture_default_str();
  AddThreadsOption(command, &options->threads);
  command->add_flag("--explain", options->explain,
                    "Tell why each subgraph ended, and what would help");
  command->add_flag(
      "--check", options->check,
      "Run what was written, and the archive by LibTorch; exit code 1 if they differ");
  AddTrustOption(command, &options->trust);
  AddJsonOption(command, &options->json,
                "out, steps (subgraphs, and what broke them with place, why and hint), symbols, "
                "relations and same_bits");
  command->callback([options, run] {
    *run = [options]() -> absl::StatusOr<int> {
      ASSIGN_OR_RETURN(const Engine* engine, OpenEngine());
      return engine->Extract(*options);
    };
  });
}

}  // namespace graphnet
