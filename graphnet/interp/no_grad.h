// Graphs run without autograd's kernels, which costs less than no_grad and gives the same results,
// except for composite operators on complex tensors: without these kernels, LibTorch resolves
// conjugate views before it decomposes the operator, and products round differently.
#ifndef GRAPHNET_INTERP_NO_GRAD_H_
#define GRAPHNET_INTERP_NO_GRAD_H_

#include <algorithm>

#include "ATen/core/dispatch/Dispatcher.h"
#include "ATen/core/grad_mode.h"
#include "ATen/core/ivalue.h"
#include "c10/core/InferenceMode.h"

namespace graphnet::interp {

// No gradients, without inference mode.
struct NoGrad {
  c10::InferenceMode off{false};
  at::NoGradGuard guard;
};

// Returns true if LibTorch decomposes the operator, and it does not write to operands. Operators
// that write are excluded, as tensors made in inference mode cannot be written to outside of it.
inline bool IsComposite(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) &&
         !op.schema().is_mutable();
}

// Returns true if the operand may hold a conjugate view, or the imaginary part of one.
inline bool MayBeConjugate(const c10::IValue& operand) {
  if (operand.isTensor()) return operand.toTensor().is_complex() || operand.toTensor().is_neg();
  if (!operand.isList()) return false;
  const auto elements = operand.toListRef();
  return std::any_of(elements.begin(), elements.end(),
                     [](const c10::IValue& element) { return MayBeConjugate(element); });
}

inline bool MayBeConjugate(const c10::IValue* operand) { return MayBeConjugate(*operand); }

// Runs `call`, which takes `operands`, so that its result is the one under no_grad.
template <typename Operand, typename Call>
void CallAsNoGrad(bool is_composite, at::ArrayRef<Operand> operands, Call call) {
  const auto is_conjugate = [](const Operand& operand) { return MayBeConjugate(operand); };
  if (is_composite && std::any_of(operands.begin(), operands.end(), is_conjugate)) {
    const NoGrad no_grad;
    call();
  } else {
    call();
  }
}

}  // namespace graphnet::interp

#endif  // GRAPHNET_INTERP_NO_GRAD_H_
