#include "graphnet/cli/convert.h"

#include <memory>
#include <string>
#include <vector>

#include "graphnet/base/status.h"
#include "graphnet/cli/inputs.h"
#include "graphnet/cli/load.h"
#include "graphnet/cli/options.h"
#include "graphnet/cli/save.h"
#include "graphnet/inputs/example_input.h"
#include "graphnet/ir/verifier.h"
#include "graphnet/passes/lift_attributes.h"

namespace graphnet {
namespace {

struct Options {
  std::string in;
  Output out;
  std::vector<std::string> inputs;
  bool trust = false;
  bool lift = false;
};

absl::StatusOr<int> Convert(const Options& options) {
  LoadOptions load;
  load.trust = options.trust;
  load.weights = options.out.keeps_weights();
  ASSIGN_OR_RETURN(Sample sample, LoadSample(options.in, load));
  RETURN_IF_ERROR(DescribeInputs(options.inputs, /*seed=*/0, &sample));
  if (options.lift) {
    RETURN_IF_ERROR(LiftAttributes(sample.module.get()).status());
    RETURN_IF_ERROR(Verify(*sample.module));
  }
  RETURN_IF_ERROR(SaveSample(sample, options.out));
  return 0;
}

}  // namespace

void RegisterConvert(CLI::App& app, CommandRunner* run) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("convert", "Convert a sample to another format");
  command->add_option("IN", options->in, "GraphNet folder, TorchScript archive, protobuf or text")
      ->required();
  AddOutputOptions(command, &options->out, ",OUT")->required();
  AddTrustOption(command, &options->trust);
  AddInputOption(command, &options->inputs);
  command->add_flag("--lift", options->lift, "Make parameters and buffers arguments of the graph");
  command->callback([options, run] { *run = [options] { return Convert(*options); }; });
}

}  // namespace graphnet
