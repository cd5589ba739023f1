#include "graphnet/interp/torch/values.h"

#include <string>

#include "c10/util/Exception.h"
#include "graphnet/interp/torch/types.h"
#include "graphnet/ir/tensor_meta.h"

namespace graphnet {

using c10::IValue;

std::optional<IValue> ConstantOf(const Argument& argument) {
  switch (argument.kind()) {
    case Argument::Kind::kNone: return IValue();
    case Argument::Kind::kBool: return IValue(argument.boolean());
    case Argument::Kind::kInt: return IValue(argument.integer());
    case Argument::Kind::kFloat: return IValue(argument.real());
    case Argument::Kind::kComplex: return IValue(c10::complex<double>(argument.complex()));
    case Argument::Kind::kString: return IValue(std::string(argument.string()));
    case Argument::Kind::kDevice: return IValue(c10::Device(DeviceName(argument.device())));
    case Argument::Kind::kMemoryFormat:
      return IValue(static_cast<int64_t>(argument.memory_format()));
    case Argument::Kind::kDType:
      if (argument.dtype() == DType::kUnknown) return std::nullopt;
      return IValue(static_cast<int64_t>(ScalarTypeOf(argument.dtype())));
    case Argument::Kind::kLayout: return IValue(static_cast<int64_t>(LayoutOf(argument.layout())));
    case Argument::Kind::kSymInt:
      if (argument.sym()->kind == SymExpr::Kind::kInt) return IValue(argument.sym()->value);
      return std::nullopt;
    default: return std::nullopt;
  }
}

std::optional<Argument> ArgumentOf(const IValue& value, std::complex<double>* complex) {
  if (value.isNone()) return Argument::None();
  if (value.isBool()) return Argument(value.toBool());
  if (value.isInt()) return Argument(value.toInt());
  if (value.isDouble()) return Argument(value.toDouble());
  if (value.isComplexDouble()) {
    *complex = std::complex<double>(value.toComplexDouble());
    return Argument(complex);
  }
  if (value.isString()) return Argument(absl::string_view(value.toStringRef()));
  if (value.isDevice()) return Argument(DeviceOf(value.toDevice()));
  return std::nullopt;
}

Argument AsFormal(const Argument& argument, c10::TypeKind kind) {
  if (!argument.is_int()) return argument;
  const int64_t value = argument.integer();
  if (kind == c10::TypeKind::ScalarTypeType) {
    if (value < 0 || value >= static_cast<int64_t>(c10::ScalarType::NumOptions)) return argument;
    const DType dtype = DTypeOf(static_cast<c10::ScalarType>(value));
    return dtype == DType::kUnknown ? argument : Argument(dtype);
  }
  if (kind == c10::TypeKind::LayoutType) {
    if (value < 0 || value >= static_cast<int64_t>(c10::Layout::NumOptions)) return argument;
    const std::optional<Layout> layout = LayoutOf(static_cast<c10::Layout>(value));
    return layout ? Argument(*layout) : argument;
  }
  if (kind == c10::TypeKind::MemoryFormatType && value >= 0 && value < kNumMemoryFormats) {
    return static_cast<MemoryFormat>(value);
  }
  return argument;
}

std::vector<IValue> Elements(const IValue& sequence) {
  if (sequence.isTuple()) {
    // Use parentheses: braces would make a vector of two elements.
    const auto& elements = sequence.toTupleRef().elements();
    return std::vector<IValue>(elements.begin(), elements.end());
  }
  if (sequence.isList()) {
    const c10::ArrayRef<IValue> list = sequence.toListRef();
    return std::vector<IValue>(list.begin(), list.end());
  }
  TORCH_CHECK(false, "expected a list or tuple, not ", sequence.tagKind());
}

}  // namespace graphnet
