// The functions of Python's module `operator`.
#ifndef GRAPHNET_OPS_PYTHON_OPERATOR_H_
#define GRAPHNET_OPS_PYTHON_OPERATOR_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace graphnet {

struct PythonOperator {
  absl::string_view name;  // "iadd"
  absl::string_view aten;  // what it calls on tensors, empty: nothing
  char result;             // on numbers: 'n' as the operands, 'f' float, 'b' bool, 'i' int
  absl::string_view base;  // what it is on numbers: "add" of "iadd"
  size_t num_operands = 2;
  bool is_in_place = false;   // writes to the first operand if that is a tensor
  bool may_alias = false;     // writes nothing, but its value may be a view of the first operand
  bool is_reflected = false;  // "radd": the operands are the other way round
};

// Also the reflected ones that Python calls when only the right operand is a tensor.
// Null when there is none of that name.
const PythonOperator* FindPythonOperator(absl::string_view name);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_PYTHON_OPERATOR_H_
