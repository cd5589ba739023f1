// Internal to the lowering: what Python's operators on tensors and subscripts are, as Paddle's
// static programs have them.
#ifndef GRAPHNET_PADDLE_PIR_LOWER_PYTHON_H_
#define GRAPHNET_PADDLE_PIR_LOWER_PYTHON_H_

#include "absl/strings/string_view.h"
#include "graphnet/paddle/pir/emitter.h"

namespace graphnet::pir {

// "add" of a and b, which are tensors or one of them a number; "iadd" is the operator in place.
// Null if there is none, or it is not known what they are.
Node* LowerPythonOperator(Emitter& out, absl::string_view name, const Value& a, const Value& b,
                          const ValueMeta* meta);

// x[index], where all of the index is written out: ints, slices, None, an ellipsis. Null if not.
Node* LowerSubscript(Emitter& out, Node* x, const Argument& index, const ValueMeta* meta);

}  // namespace graphnet::pir

#endif  // GRAPHNET_PADDLE_PIR_LOWER_PYTHON_H_
