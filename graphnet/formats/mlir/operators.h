// The list of operators in MLIR's torch dialect (operators.txt).
#ifndef GRAPHNET_FORMATS_MLIR_OPERATORS_H_
#define GRAPHNET_FORMATS_MLIR_OPERATORS_H_

#include "absl/strings/string_view.h"

namespace graphnet::mlir {

// Returns whether the dialect has the operator of an overload, such as "aten.relu.default".
bool HasOperator(absl::string_view target);

// The content of operators.txt, one overload per line.
extern const absl::string_view kOperators;

}  // namespace graphnet::mlir

#endif  // GRAPHNET_FORMATS_MLIR_OPERATORS_H_
