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

// Whether the annotation or the meta of a placeholder says that it holds others.
bool IsStructure(const Node& placeholder);

// Puts it together from the values called "name.0", "name.1" or "name.key" (and so on
// within those), which `make` makes tensors of. NotFound if one is missing; an Optional of
// which nothing is there is None. InvalidArgument for structures that hold something else
// than tensors, numbers and texts.
absl::StatusOr<c10::IValue> MakeStructure(const Node& placeholder,
                                          const std::map<std::string, TensorData>& values,
                                          TensorMaker make);
// Ditto, of a type, by the name of the whole.
absl::StatusOr<c10::IValue> MakeStructure(const c10::TypePtr& type, const std::string& name,
                                          const std::map<std::string, TensorData>& values,
                                          TensorMaker make);

}  // namespace graphnet

#endif  // GRAPHNET_INTERP_STRUCTURED_INPUT_H_
