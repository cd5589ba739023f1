// Inputs that hold others: lists, tuples and dicts of tensors.
#ifndef GRAPHNET_INTERP_STRUCTURED_INPUT_H_
#define GRAPHNET_INTERP_STRUCTURED_INPUT_H_

#include <map>
#include <string>

#include "ATen/core/ivalue.h"
#include "ATen/core/jit_type.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "graphnet/ir/node.h"
#include "graphnet/ir/sample.h"

namespace graphnet {

using TensorMaker =
    absl::FunctionRef<absl::StatusOr<at::Tensor>(const std::string& name, const TensorData& data)>;

// Returns true if the annotation or the meta of a placeholder describes a structure.
bool IsStructure(const Node& placeholder);

// Builds the structure from the values called "name.0", "name.1" or "name.key" (and so on inside
// them); `make` turns each into a tensor. NotFound if a value is missing; an Optional without any
// value is None. InvalidArgument if the structure holds anything but tensors, numbers and strings.
absl::StatusOr<c10::IValue> MakeStructure(const Node& placeholder,
                                          const std::map<std::string, TensorData>& values,
                                          TensorMaker make);
// Builds a structure of the given type and name in the same way.
absl::StatusOr<c10::IValue> MakeStructure(const c10::TypePtr& type, const std::string& name,
                                          const std::map<std::string, TensorData>& values,
                                          TensorMaker make);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_STRUCTURED_INPUT_H_
