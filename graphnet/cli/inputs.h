// What a graph is run on, as the commands take it.
#ifndef GRAPHNET_CLI_INPUTS_H_
#define GRAPHNET_CLI_INPUTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// In the place of a file: all is drawn, and of what holds zeros only (layer scale) other values,
// which would hide what they are multiplied with.
inline constexpr char kRandomInputs[] = "random";

struct InputOptions {
  std::vector<std::string> words;  // inputs/example_input.h
  std::string file;                // safetensors; "-": the standard input; kRandomInputs
};

// --input, what to draw, and --inputs, a file of values.
CLI::Option* AddInputOption(CLI::App* command, std::vector<std::string>* words);
CLI::Option* AddInputsOption(CLI::App* command, std::string* file);

// The values by name that a file holds, each of which must be one of `names`, or begin with
// one that ends in a dot. Nothing without a path, or for kRandomInputs.
absl::StatusOr<std::map<std::string, TensorData>> ReadValues(const std::string& path,
                                                             const std::vector<std::string>& names);
// What a sample takes values for: its inputs and attributes; of those that hold others, the
// name with a dot.
std::vector<std::string> NamesOfValues(const Sample& sample);

// Draws other values than zeros for what holds nothing else: kRandomInputs.
void ReplaceZeros(Sample* sample);

// Describes the inputs of a sample and puts the values of the file into `sample->weights`, so
// that the rest can be drawn. InvalidArgument that names --input for an input of which too
// little is known.
absl::Status GiveInputs(const InputOptions& options, uint64_t seed, Sample* sample);
// Ditto, and draws the rest.
absl::StatusOr<std::map<std::string, TensorData>> ReadInputs(const InputOptions& options,
                                                             const DrawOptions& draw,
                                                             Sample* sample);

}  // namespace graphnet

#endif  // GRAPHNET_CLI_INPUTS_H_
