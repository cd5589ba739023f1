#include "graphnet/interp/values.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "ATen/ScalarOps.h"
#include "ATen/core/class_type.h"
#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "c10/util/Exception.h"
#include "graphnet/base/limits.h"

namespace graphnet::interp {
namespace {

using c10::IValue;

Want ElementWant(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::TensorType: return Want::kTensorList;
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType: return Want::kIntList;
    case c10::TypeKind::FloatType: return Want::kFloatList;
    case c10::TypeKind::BoolType: return Want::kBoolList;
    case c10::TypeKind::NumberType: return Want::kScalarList;
    case c10::TypeKind::StringType: return Want::kStringList;
    case c10::TypeKind::OptionalType: return Want::kOptionalTensorList;
    default: return Want::kAny;
  }
}

// Computes how deep values nest. Visits each once, as they may be shared or hold themselves.
class Nesting {
 public:
  // Returns the depth of a value; 0 if it holds no containers. Throws if it is kMaxNesting or more.
  int Of(const IValue& value) {
    const void* const holder = HolderOf(value);
    if (holder == nullptr) return 0;
    if (const auto it = known_.find(holder); it != known_.end()) return it->second;
    TORCH_CHECK(++depth_ < kMaxNesting, "a value nests deeper than ", kMaxNesting);
    known_[holder] = 0;  // in case it holds itself
    int deepest = 0;
    const auto look_at = [&](const IValue& element) { deepest = std::max(deepest, Of(element)); };
    if (value.isTuple()) {
      for (const IValue& element : value.toTupleRef().elements()) look_at(element);
    } else if (value.isList()) {
      for (const IValue& element : value.toListRef()) look_at(element);
    } else {
      for (const auto& entry : value.toGenericDict()) look_at(entry.value());
    }
    --depth_;
    TORCH_CHECK(deepest + 1 < kMaxNesting, "a value nests deeper than ", kMaxNesting);
    return known_[holder] = deepest + 1;
  }

 private:
  // Returns null for a value that holds only numbers, strings or tensors.
  static const void* HolderOf(const IValue& value) {
    if (value.isTuple()) return &value.toTupleRef();
    if (value.isGenericDict()) return value.internalToPointer();
    if (!value.isList() || value.isTensorList() || value.isIntList() || value.isDoubleList() ||
        value.isBoolList())
      return nullptr;
    return value.internalToPointer();
  }

  absl::flat_hash_map<const void*, int> known_;
  int depth_ = 0;
};

// Returns the number of values of LibTorch's enumeration; 0 if `want` is not an enumeration.
int64_t NumValues(Want want) {
  switch (want) {
    case Want::kDType: return static_cast<int64_t>(c10::ScalarType::Undefined);
    case Want::kLayout: return static_cast<int64_t>(c10::Layout::NumOptions);
    case Want::kMemoryFormat: return static_cast<int64_t>(c10::MemoryFormat::NumOptions);
    default: return 0;
  }
}
bool IsValueOf(Want want, const IValue& value) {
  return !value.isInt() || (value.toInt() >= 0 && value.toInt() < NumValues(want));
}
void CheckValueOf(Want want, const IValue& value) {
  TORCH_CHECK(IsValueOf(want, value), value.toInt(), " is not a valid ",
              want == Want::kDType    ? "dtype"
              : want == Want::kLayout ? "layout"
                                      : "memory format");
}

double AsFloat(const IValue& value) {
  if (value.isDouble()) return value.toDouble();
  if (value.isTensor()) return value.toTensor().item().toDouble();
  return static_cast<double>(AsInt(value));
}

template <typename T, typename Fn>
IValue AsList(const Wanted& wanted, const IValue& value, Fn&& as_element) {
  c10::List<T> list;
  if (value.isList() || value.isTuple()) {
    for (const IValue& element : Elements(value)) list.push_back(as_element(element));
  } else {
    TORCH_CHECK(wanted.list_size > 0, "expected a list, not ", value.tagKind());
    for (int i = 0; i < wanted.list_size; ++i) list.push_back(as_element(value));
  }
  return list;
}

}  // namespace

std::optional<at::Tensor> OptionalTensor(const IValue& value) {
  return value.isNone() ? std::nullopt : std::optional<at::Tensor>(value.toTensor());
}

int64_t AsInt(const IValue& value) {
  if (value.isInt()) return value.toInt();
  if (value.isBool()) return value.toBool();
  if (value.isTensor()) return value.toTensor().item().toLong();
  TORCH_CHECK(false, "expected an int, not ", value.tagKind());
}

c10::ScalarType AsScalarType(const IValue& value) {
  CheckValueOf(Want::kDType, value);
  return value.toScalarType();
}

IValue AsTensor(const IValue& value) {
  if (value.isTensor()) return value;
  TORCH_CHECK(value.isScalar(), "expected a Tensor, not ", value.tagKind());
  at::Tensor tensor = c10::scalar_to_tensor(value.toScalar());
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

Wanted WantedOf(const c10::Argument& argument) {
  Wanted wanted;
  c10::TypePtr type = argument.real_type();
  if (type->kind() == c10::TypeKind::OptionalType) {
    wanted.optional = true;
    type = type->expectRef<c10::OptionalType>().getElementType();
  }
  switch (type->kind()) {
    case c10::TypeKind::TensorType: wanted.want = Want::kTensor; break;
    case c10::TypeKind::NumberType: wanted.want = Want::kScalar; break;
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType: wanted.want = Want::kInt; break;
    case c10::TypeKind::FloatType: wanted.want = Want::kFloat; break;
    case c10::TypeKind::BoolType: wanted.want = Want::kBool; break;
    case c10::TypeKind::DeviceObjType: wanted.want = Want::kDevice; break;
    case c10::TypeKind::ScalarTypeType: wanted.want = Want::kDType; break;
    case c10::TypeKind::LayoutType: wanted.want = Want::kLayout; break;
    case c10::TypeKind::MemoryFormatType: wanted.want = Want::kMemoryFormat; break;
    case c10::TypeKind::ListType:
      wanted.want = ElementWant(*type->expectRef<c10::ListType>().getElementType());
      wanted.list_size = argument.N().value_or(0);
      break;
    default: break;
  }
  return wanted;
}

bool Fits(const Wanted& wanted, const IValue& value) {
  switch (wanted.want) {
    case Want::kAny: return true;
    case Want::kTensor: return value.isTensor() || value.isNone();
    case Want::kScalar: return !value.isTensor();
    case Want::kInt: return value.isInt() || value.isNone();
    case Want::kFloat: return value.isDouble() || value.isNone();
    case Want::kBool: return value.isBool() || value.isNone();
    case Want::kDevice: return !value.isString();
    case Want::kDType:
    case Want::kLayout:
    case Want::kMemoryFormat: return IsValueOf(wanted.want, value);
    case Want::kIntList: return value.isIntList() || value.isNone();
    case Want::kFloatList: return value.isDoubleList() || value.isNone();
    case Want::kBoolList: return value.isBoolList() || value.isNone();
    case Want::kTensorList: return value.isTensorList() || value.isNone();
    case Want::kScalarList:
    case Want::kStringList:
    case Want::kOptionalTensorList: return value.isNone();
  }
  return false;
}

void Convert(const Wanted& wanted, IValue* value) {
  if (Fits(wanted, *value)) return;
  switch (wanted.want) {
    case Want::kAny: return;
    case Want::kTensor: *value = AsTensor(*value); return;
    case Want::kScalar: *value = value->toTensor().item(); return;
    case Want::kInt: *value = AsInt(*value); return;
    case Want::kFloat: *value = AsFloat(*value); return;
    case Want::kBool:
      *value = value->isTensor() ? value->toTensor().item().toBool() : AsInt(*value) != 0;
      return;
    case Want::kDevice: *value = c10::Device(value->toStringRef()); return;
    case Want::kDType:
    case Want::kLayout:
    case Want::kMemoryFormat: CheckValueOf(wanted.want, *value); return;
    case Want::kIntList: *value = AsList<int64_t>(wanted, *value, AsInt); return;
    case Want::kFloatList: *value = AsList<double>(wanted, *value, AsFloat); return;
    case Want::kBoolList:
      *value = AsList<bool>(wanted, *value, [](const IValue& v) { return AsInt(v) != 0; });
      return;
    case Want::kScalarList:
      if (value->isIntList() || value->isDoubleList() || value->isTuple()) {
        c10::impl::GenericList list(c10::NumberType::get());
        for (IValue& element : Elements(*value)) list.push_back(std::move(element));
        *value = list;
      }
      return;
    case Want::kStringList:
      *value = AsList<std::string>(wanted, *value, [](const IValue& v) { return v.toStringRef(); });
      return;
    case Want::kTensorList:
      *value = AsList<at::Tensor>(wanted, *value,
                                  [](const IValue& v) { return AsTensor(v).toTensor(); });
      return;
    case Want::kOptionalTensorList: {
      c10::List<std::optional<at::Tensor>> list;
      for (const IValue& element : Elements(*value)) {
        list.push_back(element.isNone() ? std::optional<at::Tensor>()
                                        : std::optional<at::Tensor>(AsTensor(element).toTensor()));
      }
      *value = list;
      return;
    }
  }
}

c10::Device ToDevice(Device device, c10::Device target) {
  if (target.is_meta() || device.type != DeviceType::kCpu) return target;
  return c10::Device(c10::kCPU);
}

void CheckNesting(absl::Span<const IValue> elements) {
  Nesting nesting;
  for (const IValue& element : elements) nesting.Of(element);
}

IValue MakeSequence(std::vector<IValue> elements, bool tuple) {
  CheckNesting(elements);
  if (tuple) return c10::ivalue::Tuple::create(std::move(elements));
  const auto all = [&elements](auto&& is) {
    for (const IValue& e : elements) {
      if (!is(e)) return false;
    }
    return !elements.empty();
  };
  if (all([](const IValue& e) { return e.isTensor(); })) {
    c10::List<at::Tensor> list;
    for (IValue& e : elements) list.push_back(std::move(e).toTensor());
    return list;
  }
  if (all([&](const IValue& e) {  // packed parameters
        return e.isObject() && elements[0].isObject() &&
               e.toObjectRef().type() == elements[0].toObjectRef().type();
      })) {
    c10::impl::GenericList list(elements[0].toObjectRef().type());
    for (IValue& e : elements) list.push_back(std::move(e));
    return list;
  }
  if (all([](const IValue& e) { return e.isInt(); })) {
    c10::List<int64_t> list;
    for (const IValue& e : elements) list.push_back(e.toInt());
    return list;
  }
  if (all([](const IValue& e) { return e.isDouble(); })) {
    c10::List<double> list;
    for (const IValue& e : elements) list.push_back(e.toDouble());
    return list;
  }
  if (all([](const IValue& e) { return e.isBool(); })) {
    c10::List<bool> list;
    for (const IValue& e : elements) list.push_back(e.toBool());
    return list;
  }
  // Lists of lists, texts and complex numbers have one type, which operators such as torch.tensor
  // read. The type of a tuple would be computed anew at each level.
  c10::TypePtr type = c10::AnyType::get();
  if (all([](const IValue& e) { return e.isList() || e.isString() || e.isComplexDouble(); })) {
    const c10::TypePtr first = elements[0].type();
    if (all([&](const IValue& e) { return *e.type() == *first; })) type = first;
  }
  c10::impl::GenericList list(type);
  for (IValue& e : elements) list.push_back(std::move(e));
  return list;
}

IValue ToIValue(const Argument& argument, c10::Device target) {
  if (argument.is_list() || argument.is_tuple()) {
    std::vector<IValue> elements;
    elements.reserve(argument.elements().size());
    for (const Argument& e : argument.elements()) elements.push_back(ToIValue(e, target));
    return MakeSequence(std::move(elements), argument.is_tuple());
  }
  if (argument.kind() == Argument::Kind::kDevice) return ToDevice(argument.device(), target);
  if (argument.kind() == Argument::Kind::kLayout) {
    TORCH_CHECK(argument.layout() == Layout::kStrided, "only the strided layout can be run");
  }
  std::optional<IValue> constant = ConstantOf(argument);
  TORCH_CHECK(constant, "an argument of this kind is not a constant");
  return *std::move(constant);
}

}  // namespace graphnet::interp
