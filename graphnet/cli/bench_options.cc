#include "graphnet/cli/bench_options.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graphnet/cli/options.h"

namespace graphnet {

void AddExecOptions(CLI::App* command, BenchSettings* settings) {
  command
      ->add_option("--exec", settings->exec,
                   "Command of backend exec, which keeps to the protocol in docs/evaluation.md")
      ->type_name("COMMAND");
  const std::map<std::string, ProgramForm> forms = {{"graphnet", ProgramForm::kSample},
                                                    {"pt2", ProgramForm::kPt2},
                                                    {"torchscript", ProgramForm::kTorchScript},
                                                    {"export", ProgramForm::kExport},
                                                    {"mlir", ProgramForm::kMlir}};
  AddChoiceOption(command, "--exec-reads", &settings->exec_reads, forms,
                  "Form of the programs that this command reads (default: pt2)");
}

CLI::Validator IsNumber() {
  return CLI::Validator(
      [](std::string& text) {
        double value = 0;
        return absl::SimpleAtod(text, &value) && std::isnan(value)
                   ? absl::StrCat(text, " is not a number")
                   : std::string();
      },
      /*validator_desc=*/"");
}

void AddMemoryOption(CLI::App* command, BenchRun* run) {
  command
      ->add_option("--memory", run->memory_mib,
                   "Most MiB that a backend may take; 0: the free memory of the machine")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 30))
      ->capture_default_str();
}

}  // namespace graphnet
