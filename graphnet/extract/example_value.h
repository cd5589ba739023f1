// Example inputs as a person writes them.
#ifndef GRAPHNET_EXTRACT_EXAMPLE_INPUT_H_
#define GRAPHNET_EXTRACT_EXAMPLE_INPUT_H_

#include <cstdint>
#include <string>

#include "ATen/core/ivalue.h"
#include "absl/status/statusor.h"

namespace graphnet {

// "f32[1,3,224,224]", "i64[1,16]:0..900", "int=3", "float=0.5", "bool=true",
// "str=abc", "None"; "list(f32[2],f32[3])", "tuple(f32[2],int=3)", "dict(a=f32[2],b=f32[3])",
// within each other too. Tensors are drawn by `name` and `seed`, those in structures by
// name.0 or name.key: floats from the standard normal distribution, integers within the
// bounds, by default 0..9. `type` says what empty structures hold, else their first element
// says what they hold; may be null. InvalidArgument says what is wrong with the text.
absl::StatusOr<c10::IValue> ParseExampleInput(const std::string& text, const std::string& name,
                                              uint64_t seed, const c10::TypePtr& type = nullptr);

}  // namespace graphnet

#endif  // GRAPHNET_EXTRACT_EXAMPLE_INPUT_H_
