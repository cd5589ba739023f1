// Example inputs as values that TorchScript takes.
#ifndef GRAPHNET_EXTRACT_EXAMPLE_VALUE_H_
#define GRAPHNET_EXTRACT_EXAMPLE_VALUE_H_

#include <cstdint>
#include <string>

#include "ATen/core/ivalue.h"
#include "absl/status/statusor.h"
#include "graphnet/interp/inputs/example_input.h"

namespace graphnet {

// Tensors are drawn by `name` and `seed`, those in structures by name.0 or name.key. `type`
// says what empty structures hold, else their first element says what they hold; may be null.
// InvalidArgument for structures that no type fits.
absl::StatusOr<c10::IValue> MakeExampleValue(const ExampleInput& input, const std::string& name,
                                             uint64_t seed, const c10::TypePtr& type = nullptr);

// Ditto, of what ParseExampleInput takes.
absl::StatusOr<c10::IValue> MakeExampleValue(const std::string& text, const std::string& name,
                                             uint64_t seed, const c10::TypePtr& type = nullptr);

}  // namespace graphnet

#endif  // GRAPHNET_EXTRACT_EXAMPLE_VALUE_H_
