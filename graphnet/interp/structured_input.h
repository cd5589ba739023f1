// Inputs that are more than a tensor, number or text: lists, tuples and dicts, and those of which
// the value decides the kind. inputs/elements.h says how their values are called.
#ifndef GRAPHNET_INTERP_STRUCTURED_INPUT_H_
#define GRAPHNET_INTERP_STRUCTURED_INPUT_H_

#include <map>
#include <string>

#include "ATen/core/ivalue.h"
#include "ATen/core/jit_type.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphnet/ir/node.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

using TensorMaker =
    absl::FunctionRef<absl::StatusOr<at::Tensor>(const std::string& name, const TensorData& data)>;

// Returns true if the annotation or the meta of a placeholder describes such an input.
bool IsStructure(const Node& placeholder);

// Returns the string whose bytes the tensor holds; throws c10::Error for other tensors.
c10::IValue TextOf(const at::Tensor& tensor);

// Builds the input from the values called "name", "name.0", "name.1" or "name.key" (and so on
// inside them); `make` turns each into a tensor. A value that does not say its kind is a tensor
// where the type admits one. NotFound if a value is missing; an Optional without any value is None.
// InvalidArgument if it holds anything but tensors, numbers, strings and devices.
absl::StatusOr<c10::IValue> MakeStructure(const Node& placeholder,
                                          const std::map<std::string, TensorData>& values,
                                          TensorMaker make);
// Builds a structure of the given type and name in the same way.
absl::StatusOr<c10::IValue> MakeStructure(const c10::TypePtr& type, const std::string& name,
                                          const std::map<std::string, TensorData>& values,
                                          TensorMaker make);

// Adds the values from which MakeStructure builds an equal input of that type. InvalidArgument if
// there is no way to build it, as for objects; ResourceExhausted if it has too many parts.
absl::Status AddValues(const c10::IValue& value, const c10::TypePtr& type, const std::string& name,
                       std::map<std::string, TensorData>* values);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_STRUCTURED_INPUT_H_
