// Inputs of a TorchScript program, made of values and of words.
#ifndef GRAPHNET_EXTRACT_PROGRAM_INPUTS_H_
#define GRAPHNET_EXTRACT_PROGRAM_INPUTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ATen/core/ivalue.h"
#include "absl/status/statusor.h"
#include "graphnet/ir/sample.h"
#include "torch/csrc/jit/api/module.h"

namespace graphnet {

// Returns the names of the parameters of forward, with a dot behind the name of one that holds
// others. NotFound if the module has no method forward.
absl::StatusOr<std::vector<std::string>> NamesOfInputs(const torch::jit::Module& module);

// The arguments of forward. `given`: values by name, `x`, or `x.0` and `x.key` for elements of x.
// `words`: what the others are, in order or by name (interp/inputs/example_input.h), drawn by
// `seed`. A parameter without either has its default value, or InvalidArgument tells its type.
absl::StatusOr<std::vector<c10::IValue>> MakeProgramInputs(
    const torch::jit::Module& module, const std::map<std::string, TensorData>& given,
    const std::vector<std::string>& words, uint64_t seed);

}  // namespace graphnet

#endif  // GRAPHNET_EXTRACT_PROGRAM_INPUTS_H_
