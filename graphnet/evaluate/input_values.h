// The values that a graph runs on, as options describe them.
#ifndef GRAPHNET_EVALUATE_INPUT_VALUES_H_
#define GRAPHNET_EVALUATE_INPUT_VALUES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/interp/inputs/draw.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

// Takes the place of a file: all inputs are drawn, and tensors that hold only zeros get other
// values. Zeros, as in a layer scale, would hide the values that they are multiplied with.
inline constexpr char kRandomInputs[] = "random";

struct InputOptions {
  std::vector<std::string> words;  // as in inputs/example_input.h
  std::string file;                // safetensors; "-": the standard input; kRandomInputs
};

// Reads the values of a file by name. Each name must be one of `names`, or begin with one of them
// that ends with a dot. Returns nothing if the path is empty or kRandomInputs.
absl::StatusOr<std::map<std::string, TensorData>> ReadValues(const std::string& path,
                                                             const std::vector<std::string>& names);
// Returns the names for which a sample takes values: its inputs and attributes. A name ends with a
// dot if the input is a list, tuple or dict.
std::vector<std::string> NamesOfValues(const Sample& sample);

// Makes tensors that hold only zeros draw other values, as kRandomInputs says.
void ReplaceZeros(Sample* sample);

// Describes the inputs of a sample and puts the values of the file into `sample->weights`.
absl::Status DescribeAll(const InputOptions& options, uint64_t seed, Sample* sample);
// Like DescribeAll, so that the rest can be drawn. InvalidArgument, which mentions --input, if an input is still not
// described well enough.
absl::Status GiveInputs(const InputOptions& options, uint64_t seed, Sample* sample);
// Like GiveInputs, and then draws the rest. Returns all values by name.
absl::StatusOr<std::map<std::string, TensorData>> ReadInputs(const InputOptions& options,
                                                             const DrawOptions& draw,
                                                             Sample* sample);

}  // namespace graphnet

#endif  // GRAPHNET_EVALUATE_INPUT_VALUES_H_
