// Options that several commands share, with the same help everywhere.
#ifndef GRAPHNET_CLI_OPTIONS_H_
#define GRAPHNET_CLI_OPTIONS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graphnet/evaluate/input_values.h"

namespace graphnet {

// Groups in the help of a command. The group "Options" has the command's own options.
inline constexpr char kInputGroup[] = "Inputs";
inline constexpr char kOutputGroup[] = "Output";
inline constexpr char kWorkGroup[] = "Threads and progress";
inline constexpr char kTrustGroup[] = "Trusted code";

// Undoes what options set for the whole process, before the next command: --method, --draw-weights,
// --progress, --json, and the options that workers get.
void ResetSettings();

// Adds --trust, which loads TorchScript archives without a check; --method, which chooses a method
// of a TorchScript module; --library, which needs --trust
// and loads libraries of operators before the command runs; and --schema, which declares operators
// before the command runs.
void AddTrustOption(CLI::App* command, bool* trust);

// Adds --draw-weights, for all commands that need the values of weights: whatever they load may do
// without values that it should have and lacks (formats/find_values.h).
void AddDrawWeightsOption(CLI::App* command);

// Add IN, the input of a command: a sample in any format; a sample or a folder of samples; or many
// of both.
CLI::Option* AddSampleOption(CLI::App* command, std::string* in);
CLI::Option* AddSamplesOption(CLI::App* command, std::string* in);
CLI::Option* AddManySamplesOption(CLI::App* command, std::vector<std::string>* in);

// Add --jobs, a number of threads (the default 0 is one per CPU), and --progress, for commands that
// take many samples.
void AddJobsOption(CLI::App* command, int* jobs);
void AddProgressOption(CLI::App* command);

// Adds -o, --out for a folder, which cannot be "-". `also` has more names for it.
CLI::Option* AddFolderOption(CLI::App* command, std::string* path, const std::string& help,
                             const std::string& also = "");

// Adds -o, --out for a binary file, or "-" unless the standard output is a terminal.
CLI::Option* AddBytesOption(CLI::App* command, std::string* path, const std::string& help,
                            const std::string& also = "");

// Adds --input, which describes inputs, and --inputs, a file of values.
void AddInputOptions(CLI::App* command, InputOptions* options);
// Add one of them.
CLI::Option* AddInputOption(CLI::App* command, std::vector<std::string>* words);
CLI::Option* AddInputsOption(CLI::App* command, std::string* file);

// Add --seed and --threads, for all commands that run graphs.
CLI::Option* AddSeedOption(CLI::App* command, uint64_t* seed);
CLI::Option* AddThreadsOption(CLI::App* command, int* threads);

// Adds an option that takes one of `choices`.
CLI::Option* AddChoiceOption(CLI::App* command, const std::string& flag, std::string* value,
                             const std::vector<std::string>& choices, const std::string& help);
// Like the one above; each choice stands for a value of an enum.
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
