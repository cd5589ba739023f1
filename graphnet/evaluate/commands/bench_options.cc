#include "graphnet/evaluate/commands/bench_options.h"

#include <cstdint>
#include <map>
#include <string>

namespace graphnet {

void AddExecOptions(CommandLine& command, BenchSettings* settings) {
  command
      .AddOption(
          "--exec", &settings->exec,
          "Command of backend exec, which keeps to the protocol in docs/evaluation_reference.md")
      .TypeName("COMMAND");
  const std::map<std::string, ProgramForm> forms = {{"graphnet", ProgramForm::kSample},
                                                    {"pt2", ProgramForm::kPt2},
                                                    {"torchscript", ProgramForm::kTorchScript},
                                                    {"export", ProgramForm::kExport},
                                                    {"mlir", ProgramForm::kMlir},
                                                    {"paddle", ProgramForm::kPaddle}};
  command.AddChoice("--exec-reads", &settings->exec_reads, forms,
                    "Form of the programs that this command reads (default: pt2)");
}

Option AddMinSpeedupOption(CommandLine& command, double* min_speedup) {
  return command
      .AddOption("--min-speedup", min_speedup,
                 "Exit with 1 if a sample broke, or if one, or all together, is less than R times "
                 "as fast as before, beyond the spread of the times")
      .Range(0.0, 1e6)
      .TypeName("R");
}

void AddMemoryOption(CommandLine& command, BenchRun* run) {
  command
      .AddOption("--memory", &run->memory_mib,
                 "Most MiB that a backend may take; 0: the free memory of the machine")
      .Range(int64_t{0}, int64_t{1} << 30)
      .ShowDefault();
}

}  // namespace graphnet
