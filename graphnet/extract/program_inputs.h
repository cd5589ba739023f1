// Makes the inputs of a TorchScript program from values and from descriptions.
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

// Returns the names of a method's parameters. A name ends in a dot if the parameter is a structure.
// NotFound if the module has no such method.
absl::StatusOr<std::vector<std::string>> NamesOfInputs(const torch::jit::Module& module,
                                                       const std::string& method);

// Returns the arguments of a method. `given` has values by name, `x`, or `x.0` and `x.key` for
// elements of x. `words` describe the others in order or by name (interp/inputs/example_input.h);
// they are drawn by `seed`. A parameter that has neither gets its default value; if there is no
// default, InvalidArgument names its type.
absl::StatusOr<std::vector<c10::IValue>> MakeProgramInputs(
    const torch::jit::Module& module, const std::string& method,
    const std::map<std::string, TensorData>& given, const std::vector<std::string>& words,
    uint64_t seed);

}  // namespace graphnet

#endif  // GRAPHNET_EXTRACT_PROGRAM_INPUTS_H_
