// Options that several commands share, with the same help everywhere.
#ifndef GRAPHNET_COMMAND_OPTIONS_H_
#define GRAPHNET_COMMAND_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graphnet/command/command_line.h"
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
// of a TorchScript module; --library, which needs --trust and loads libraries of operators before the
// command runs; and --schema, which declares operators before the command runs.
void AddTrustOption(CommandLine& command, bool* trust);

// Adds --draw-weights, for all commands that need the values of weights: whatever they load may do
// without values that it should have and lacks (formats/find_values.h).
void AddDrawWeightsOption(CommandLine& command);

// Adds IN, the input of a command: a sample in any format. Commands that take many have AddInputList
// (command/inputs.h).
Option AddSampleOption(CommandLine& command, std::string* in);

// Add --jobs, the number of samples at once (0 is one per CPU), and --progress, for commands that take
// many samples. The value that `jobs` has is the default.
void AddJobsOption(CommandLine& command, int* jobs);
void AddProgressOption(CommandLine& command);

// Adds --resume, which leaves out what an earlier run of the command has written.
Option AddResumeOption(CommandLine& command, bool* resume);

// Adds -o, --out for a folder, which cannot be "-". `also` has more names for it.
Option AddFolderOption(CommandLine& command, std::string* path, const std::string& help,
                       const std::string& also = "");

// Adds -o, --out for a binary file, or "-" unless the standard output is a terminal.
Option AddBytesOption(CommandLine& command, std::string* path, const std::string& help,
                      const std::string& also = "");

// Adds --input, which describes inputs, and --inputs, a file of values.
void AddInputOptions(CommandLine& command, InputOptions* options);
// Add one of them.
Option AddInputOption(CommandLine& command, std::vector<std::string>* words);
Option AddInputsOption(CommandLine& command, std::string* file);

// Add --seed and --threads, for all commands that run graphs.
Option AddSeedOption(CommandLine& command, uint64_t* seed);
Option AddThreadsOption(CommandLine& command, int* threads);

}  // namespace graphnet

#endif  // GRAPHNET_COMMAND_OPTIONS_H_
