#include "graphnet/cli/options.h"

namespace graphnet {

void AddTrustOption(CLI::App* command, bool* trust) {
  command->add_flag(
      "--trust", *trust,
      "Load TorchScript that the gate refuses, custom operators and classes included: "
      "it can run code");
}

void AddJobsOption(CLI::App* command, int* jobs) {
  command->add_option("--jobs,-j", *jobs, "Threads for a folder of samples (default: one a CPU)")
      ->check(CLI::PositiveNumber);
}

}  // namespace graphnet
