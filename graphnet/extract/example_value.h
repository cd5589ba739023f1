// Makes values for TorchScript from descriptions of example inputs.
#ifndef GRAPHNET_EXTRACT_EXAMPLE_VALUE_H_
#define GRAPHNET_EXTRACT_EXAMPLE_VALUE_H_

#include <cstdint>
#include <string>

#include "ATen/core/ivalue.h"
#include "absl/status/statusor.h"
#include "graphnet/interp/inputs/example_input.h"

namespace graphnet {

// Makes the value of `type` that `input` describes. Tensors are drawn by `name` and `seed`; tensors
// in structures are called name.0 or name.key. InvalidArgument if the type has no such value, or if
// an empty structure is of type Any.
absl::StatusOr<c10::IValue> MakeExampleValue(const ExampleInput& input, const std::string& name,
                                             uint64_t seed, const c10::TypePtr& type);

// Parses `text` with ParseExampleInput, then makes the value.
absl::StatusOr<c10::IValue> MakeExampleValue(const std::string& text, const std::string& name,
                                             uint64_t seed, const c10::TypePtr& type);

}  // namespace graphnet

#endif  // GRAPHNET_EXTRACT_EXAMPLE_VALUE_H_
