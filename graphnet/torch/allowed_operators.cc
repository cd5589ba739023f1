#include "graphnet/torch/allowed_operators.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "ATen/core/Tensor.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
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

// --- TorchScript's own operators on numbers and text, which take what they are given ---

// The ints a and b of a division, whose quotient must be an int64, too.
void GuardDivision(c10::ArrayRef<c10::IValue> operands) {
  if (!operands[0].isInt() || !operands[1].isInt()) return;
  const int64_t a = operands[0].toInt(), b = operands[1].toInt();
  TORCH_CHECK(b != 0, "division by zero");
  TORCH_CHECK(a != std::numeric_limits<int64_t>::min() || b != -1, "the quotient is no int64");
}
// It divides each by the other.
void GuardGreatestDivisor(c10::ArrayRef<c10::IValue> operands) {
  for (const c10::IValue& operand : operands) {
    TORCH_CHECK(operand.toInt() != std::numeric_limits<int64_t>::min(),
                "the least int64 has no greatest common divisor");
  }
}
void GuardFactorial(c10::ArrayRef<c10::IValue> operands) {
  TORCH_CHECK(operands[0].toInt() <= 20, "the factorial of ", operands[0].toInt(), " is no int64");
}

// Elements of a list, or characters of a text, that an operator may make of few.
constexpr int64_t kMaxMade = 1'000'000;

// ljust(text, width, …), expandtabs(text, width)
void GuardWidth(c10::ArrayRef<c10::IValue> operands) {
  const int64_t width = operands[1].toInt();
  TORCH_CHECK(width <= kMaxMade && width >= -kMaxMade, "a text of ", width, " characters");
}
void GuardTabs(c10::ArrayRef<c10::IValue> operands) {
  GuardWidth(operands);
  const auto tabs =
      std::count(operands[0].toStringRef().begin(), operands[0].toStringRef().end(), '\t');
  TORCH_CHECK(operands[1].toInt() * tabs <= kMaxMade, "tabs of ", operands[1].toInt(),
              " characters");
}
// count(text, part, …), replace(text, part, …): an empty part is found without end.
void GuardPart(c10::ArrayRef<c10::IValue> operands) {
  TORCH_CHECK(!operands[1].toStringRef().empty(), "an empty text to look for");
}
// list * int, int * list
void GuardRepetition(c10::ArrayRef<c10::IValue> operands) {
  const bool is_left = operands[0].isList();
  const auto size = static_cast<int64_t>(operands[is_left ? 0 : 1].toListRef().size());
  const int64_t times = operands[is_left ? 1 : 0].toInt();
  TORCH_CHECK(size == 0 || times <= kMaxMade / size, "a list of ", size, " elements ", times,
              " times");
}

// to(tensor, dtype, …), to(tensor, device, dtype, …): an int that stands for a dtype.
void GuardDType(c10::ArrayRef<c10::IValue> operands) {
  for (const c10::IValue& operand : operands.slice(1)) {
    TORCH_CHECK(
        !operand.isInt() || (operand.toInt() >= 0 &&
                             operand.toInt() < static_cast<int64_t>(c10::ScalarType::Undefined)),
        operand.toInt(), " stands for no dtype");
  }
}

Guard FindGuard(const c10::FunctionSchema& schema) {
  static const auto* const guards = new absl::flat_hash_map<absl::string_view, Guard>{
      {"aten::_weight_norm.", GuardWeightNorm},
      {"aten::remainder.", GuardDivision},
      {"aten::remainder.int", GuardDivision},
      {"aten::floordiv.", GuardDivision},
      {"aten::floordiv.int", GuardDivision},
      {"aten::divmod.int", GuardDivision},
      {"aten::__round_to_zero_floordiv.int", GuardDivision},
      {"aten::gcd.int", GuardGreatestDivisor},
      {"aten::factorial.int", GuardFactorial},
      {"aten::ljust.", GuardWidth},
      {"aten::rjust.", GuardWidth},
      {"aten::center.", GuardWidth},
      {"aten::zfill.", GuardWidth},
      {"aten::expandtabs.", GuardTabs},
      {"aten::count.", GuardPart},
      {"aten::replace.", GuardPart},
      {"aten::mul.left_t", GuardRepetition},
      {"aten::mul_.t", GuardRepetition},
      {"aten::to.prim_dtype", GuardDType},
      {"aten::to.prim_Device", GuardDType},
      {"aten::mul.right_", GuardRepetition},
  };
  const auto it = guards->find(absl::StrCat(schema.name(), ".", schema.overload_name()));
  return it == guards->end() ? nullptr : it->second;
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
