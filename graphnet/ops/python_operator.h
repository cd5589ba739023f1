// The functions of Python's module `operator`.
#ifndef GRAPHNET_OPS_PYTHON_OPERATOR_H_
#define GRAPHNET_OPS_PYTHON_OPERATOR_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace graphnet {

// One function, and the operator of ATen that it calls.
struct PythonOperator {
  absl::string_view name;  // "iadd"
  absl::string_view aten;  // the operator that it calls on tensors; empty: none
  char result;  // type on numbers: 'n' that of the operands, 'f' float, 'b' bool, 'i' int
  absl::string_view base;  // the operator that it is on numbers: "add" for "iadd"
  size_t num_operands = 2;
  bool is_in_place = false;   // writes to the first operand if that is a tensor
  bool may_alias = false;     // does not write, but its value may be a view of the first operand
  bool is_reflected = false;  // "radd": the operands are swapped
};

// Returns the operator of that name; null if there is none. Includes the reflected ones, which
// Python calls if only the right operand is a tensor.
const PythonOperator* FindPythonOperator(absl::string_view name);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_PYTHON_OPERATOR_H_
