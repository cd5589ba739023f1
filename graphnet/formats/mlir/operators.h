// What operators the torch dialect of MLIR has: operators.txt.
#ifndef GRAPHNET_FORMATS_MLIR_OPERATORS_H_
#define GRAPHNET_FORMATS_MLIR_OPERATORS_H_

#include "absl/strings/string_view.h"

namespace graphnet::mlir {

// Whether it has the operator of an overload, "aten.add.Tensor", "aten.relu.default".
bool HasOperator(absl::string_view target);

// operators.txt.
extern const absl::string_view kOperators;

}  // namespace graphnet::mlir

#endif  // GRAPHNET_FORMATS_MLIR_OPERATORS_H_
