// Options that several commands have, said the same way everywhere.
#ifndef GRAPHNET_CLI_OPTIONS_H_
#define GRAPHNET_CLI_OPTIONS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace graphnet {

// --trust: TorchScript archives are loaded without a check. --library, with it: libraries
// of operators, which are loaded before the command runs. --schema: operators that are declared
// before it runs.
void AddTrustOption(CLI::App* command, bool* trust);

// IN, what a command reads: a sample in any format, or a folder of samples, or many of both.
CLI::Option* AddSampleOption(CLI::App* command, std::string* in);
CLI::Option* AddSamplesOption(CLI::App* command, std::string* in);
CLI::Option* AddManySamplesOption(CLI::App* command, std::vector<std::string>* in);

// --jobs: threads; 0, the default, is one a CPU. And --progress, for commands that take many
// samples.
void AddJobsOption(CLI::App* command, int* jobs);
void AddProgressOption(CLI::App* command);

// -o, --out: a folder, so never "-"; `also` are names it has besides.
CLI::Option* AddFolderOption(CLI::App* command, std::string* path, const std::string& help,
                             const std::string& also = "");

// -o, --out: a file of bytes, or "-" unless the standard output is a terminal.
CLI::Option* AddBytesOption(CLI::App* command, std::string* path, const std::string& help,
                            const std::string& also = "");

// --seed and --threads, as all commands have them that run graphs.
CLI::Option* AddSeedOption(CLI::App* command, uint64_t* seed);
CLI::Option* AddThreadsOption(CLI::App* command, int* threads);

// An option that takes one of some names.
CLI::Option* AddChoiceOption(CLI::App* command, const std::string& flag, std::string* value,
                             const std::vector<std::string>& choices, const std::string& help);
// The same, each of which stands for a value.
template <typename Enum>
CLI::Option* AddChoiceOption(CLI::App* command, const std::string& flag, Enum* value,
                             const std::map<std::string, Enum>& choices, const std::string& help) {
  const auto name_of = [](std::string* out, const auto& choice) {
    absl::StrAppend(out, choice.first);
  };
  const std::string all = absl::StrJoin(choices, ", ", name_of);
  return command->add_option(flag, *value, help)
      ->type_name(absl::StrJoin(choices, "|", name_of))
      ->transform(CLI::Validator(
          [choices, all](std::string& text) {
            const auto it = choices.find(text);
            if (it == choices.end()) return absl::StrCat(text, " is none of ", all);
            text = absl::StrCat(static_cast<int>(it->second));
            return std::string();
          },
          /*validator_desc=*/""));
}

}  // namespace graphnet

#endif  // GRAPHNET_CLI_OPTIONS_H_
