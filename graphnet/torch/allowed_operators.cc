#include "graphnet/torch/allowed_operators.h"

#include <utility>

#include "ATen/core/Tensor.h"
#include "graphnet/ops/schema_table.h"
#include "graphnet/torch/operator_library.h"

namespace graphnet {
namespace {

using Guard = void (*)(c10::ArrayRef<c10::IValue>);

// _weight_norm(v, g, dim): along the first and the last dimension its kernel takes an
// element of g for each of v's.
void GuardWeightNorm(c10::ArrayRef<c10::IValue> operands) {
  const at::Tensor& v = operands[0].toTensor();
  const at::Tensor& g = operands[1].toTensor();
  const int64_t dim = operands[2].toInt();
  TORCH_CHECK(dim >= -1 && dim < v.dim(), "there is no dimension ", dim);
  if (dim != 0 && dim != v.dim() - 1) return;
  TORCH_CHECK(g.numel() == v.size(dim), "expected ", v.size(dim), " norms, not ", g.numel());
  TORCH_CHECK(g.scalar_type() == v.scalar_type(), "expected norms of type ", v.scalar_type());
}

Guard FindGuard(const c10::FunctionSchema& schema) {
  return schema.name() == "aten::_weight_norm" ? GuardWeightNorm : nullptr;
}

}  // namespace

bool IsAllowed(const c10::FunctionSchema& schema) {
  return MayRun(schema.name(), schema.overload_name()) || NeedsGuard(schema) ||
         IsOfLibrary(schema.operator_name());
}

bool NeedsGuard(const c10::FunctionSchema& schema) { return FindGuard(schema) != nullptr; }

torch::jit::Operation WithGuard(const c10::FunctionSchema& schema,
                                torch::jit::Operation operation) {
  const Guard guard = FindGuard(schema);
  if (guard == nullptr) return operation;
  return [guard, operation = std::move(operation),
          arity = schema.arguments().size()](torch::jit::Stack& stack) mutable {
    guard(torch::jit::last(stack, arity));
    operation(stack);
  };
}

}  // namespace graphnet
