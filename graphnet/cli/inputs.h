// The options for the values that a graph runs on.
#ifndef GRAPHNET_CLI_INPUTS_H_
#define GRAPHNET_CLI_INPUTS_H_

#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "graphnet/evaluate/input_values.h"

namespace graphnet {

// Adds --input, which describes inputs, and --inputs, a file of values.
void AddInputOptions(CLI::App* command, InputOptions* options);
// Add one of them.
CLI::Option* AddInputOption(CLI::App* command, std::vector<std::string>* words);
CLI::Option* AddInputsOption(CLI::App* command, std::string* file);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_INPUTS_H_
