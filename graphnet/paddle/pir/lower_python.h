// Internal to the lowering: lowers Python's operators and subscripts of tensors, as Paddle's static
// programs do.
#ifndef GRAPHNET_PADDLE_PIR_LOWER_PYTHON_H_
#define GRAPHNET_PADDLE_PIR_LOWER_PYTHON_H_

#include "absl/strings/string_view.h"
#include "graphnet/paddle/pir/emitter.h"

namespace graphnet::pir {

// Lowers an operator such as "add", or "iadd" for the one in place. One of a and b may be a number;
// the others are tensors. Returns nullptr if there is no such operator or the operands are unknown.
Node* LowerPythonOperator(Emitter& out, absl::string_view name, const Value& a, const Value& b,
                          const ValueMeta* meta);

// Lowers x[index]. Returns nullptr unless the index is literal: ints, slices, None, an ellipsis.
Node* LowerSubscript(Emitter& out, Node* x, const Argument& index, const ValueMeta* meta);

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_LOWER_PYTHON_H_
