#include "graphnet/interp/structured_input.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ATen/Functions.h"
#include "ATen/core/jit_type.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/inputs/elements.h"
#include "graphnet/interp/torch/annotation.h"
#include "graphnet/interp/torch/status.h"
#include "graphnet/interp/torch/tensors.h"
#include "graphnet/ir/annotation.h"

namespace graphnet {
namespace {

using c10::TypeKind;
using Values = std::map<std::string, TensorData>;

c10::TypePtr TypeOf(const ValueMeta& meta) {
  if (!meta.is_tuple) return c10::TensorType::get();
  std::vector<c10::TypePtr> elements;
  for (const ValueMeta* element : meta.elements) elements.push_back(TypeOf(*element));
  return c10::TupleType::create(std::move(elements));
}

// Returns the word for the kind of values of a type, as in AddKind; empty if there is none.
absl::string_view WordOf(const c10::Type& type) {
  switch (type.kind()) {
    case TypeKind::NoneType: return "None";
    case TypeKind::TensorType: return "Tensor";
    case TypeKind::IntType: return "int";
    case TypeKind::FloatType: return "float";
    case TypeKind::BoolType: return "bool";
    case TypeKind::ComplexType: return "complex";
    case TypeKind::StringType: return "str";
    case TypeKind::DeviceObjType: return "Device";
    case TypeKind::ListType: return "List";
    case TypeKind::TupleType: return "Tuple";
    case TypeKind::DictType: return "Dict";
    default: return "";
  }
}

bool IsAggregate(absl::string_view word) {
  return word == "List" || word == "Tuple" || word == "Dict";
}

// Returns the kind of a value that says nothing of it.
std::string KindOfData(const TensorData& data) {
  if (data.dtype == DType::kUInt8 && data.shape.size() == 1) return "str";
  if (!data.shape.empty()) return "Tensor";
  switch (data.dtype) {
    case DType::kInt64: return "int";
    case DType::kFloat64: return "float";
    case DType::kBool: return "bool";
    case DType::kComplex128: return "complex";
    default: return "Tensor";
  }
}

class Maker {
 public:
  Maker(const Values& values, TensorMaker make) : values_(values), make_(make) {}

  absl::StatusOr<c10::IValue> Make(const c10::TypePtr& type, const std::string& name) {
    const absl::string_view kind = KindOf(name, values_);
    const bool is_none = kind == "None" || !IsThere(name);
    switch (type->kind()) {
      case TypeKind::OptionalType:
        if (is_none) return c10::IValue();
        return Make(type->expectRef<c10::OptionalType>().getElementType(), name);
      case TypeKind::NoneType: return c10::IValue();
      case TypeKind::UnionType:
        if (is_none && type->expectRef<c10::UnionType>().canHoldType(*c10::NoneType::get()))
          return c10::IValue();
        return MakeMember(type->expectRef<c10::UnionType>(), name);
      case TypeKind::AnyType:
        if (kind == "None") return c10::IValue();
        return MakeAny(name);
      case TypeKind::ListType: return MakeList(type->containedType(0), name);
      case TypeKind::DictType:
        return MakeDict(type->containedType(0), type->containedType(1), name);
      case TypeKind::TupleType: {
        std::vector<c10::IValue> elements;
        for (const c10::TypePtr& element : type->containedTypes()) {
          ASSIGN_OR_RETURN(elements.emplace_back(),
                           Make(element, absl::StrCat(name, ".", elements.size())));
        }
        return c10::ivalue::Tuple::create(std::move(elements));
      }
      default: return MakeLeaf(*type, name);
    }
  }

 private:
  absl::Status NoValue(const std::string& name) const {
    return absl::NotFoundError(absl::StrCat("no value for input ", Printable(name)));
  }

  // Returns the kind of a value of which the type says nothing.
  std::string NaturalKind(const std::string& name) const {
    if (const absl::string_view kind = KindOf(name, values_); !kind.empty())
      return std::string(kind);
    if (const auto it = values_.find(name); it != values_.end()) return KindOfData(it->second);
    return ElementsOf(values_, name).empty() ? "" : "List";
  }

  absl::StatusOr<c10::IValue> MakeMember(const c10::UnionType& type, const std::string& name) {
    if (!IsThere(name)) return NoValue(name);
    const std::string kind = NaturalKind(name);
    const bool is_said = !KindOf(name, values_).empty();
    // Without a word of its kind, a single value is a tensor, and elements may be those of any
    // structure.
    const bool has_elements = !values_.contains(name);
    absl::Status first = absl::InvalidArgumentError(absl::StrCat(
        "input ", Printable(name), " is not of type ", Printable(type.annotation_str())));
    for (const bool as_tensor : {true, false}) {
      for (const c10::TypePtr& member : type.containedTypes()) {
        const absl::string_view word = WordOf(*member);
        if (as_tensor && (is_said || has_elements || word != "Tensor")) continue;
        const bool fits = as_tensor || word == kind || (kind == "str" && word == "Device") ||
                          (has_elements && !is_said && IsAggregate(word));
        if (!fits) continue;
        absl::StatusOr<c10::IValue> value = Make(member, name);
        if (value.ok() && HasKinds(*value, member, name)) return value;
        if (!value.ok()) first = value.status();
      }
    }
    return first;
  }

  // Returns whether the leaves of a value have the kinds that were said of them, so that ints do
  // not become tensors.
  bool HasKinds(const c10::IValue& value, const c10::TypePtr& type, const std::string& name) const {
    if (value.isList()) {
      const auto list = value.toListRef();
      for (size_t i = 0; i < list.size(); ++i) {
        if (!HasKinds(list[i], type->containedType(0), absl::StrCat(name, ".", i))) return false;
      }
      // Keys of a dict are no elements.
      return KeysOf(name, /*whole=*/false).size() == list.size();
    }
    if (value.isTuple()) {
      for (size_t i = 0; i < type->containedTypes().size(); ++i) {
        if (!HasKinds(value.toTupleRef().elements()[i], type->containedType(i),
                      absl::StrCat(name, ".", i))) {
          return false;
        }
      }
      return KeysOf(name, /*whole=*/false).size() == type->containedTypes().size();
    }
    if (value.isGenericDict()) return true;
    const absl::string_view kind = KindOf(name, values_);
    if (!kind.empty()) {
      return value.isNone() ? kind == "None"
                            : kind == WordOf(*value.type()) || (kind == "str" && value.isDevice());
    }
    const auto it = values_.find(name);
    return it == values_.end() || value.isTensor() || value.isDevice() ||
           KindOfData(it->second) == WordOf(*value.type());
  }

  absl::StatusOr<c10::IValue> MakeAny(const std::string& name) {
    if (!IsThere(name)) return NoValue(name);
    const std::string kind = NaturalKind(name);
    if (kind == "List" || kind == "Tuple") {
      std::vector<c10::IValue> elements;
      for (size_t i = 0; IsThere(absl::StrCat(name, ".", i)); ++i) {
        ASSIGN_OR_RETURN(elements.emplace_back(),
                         Make(c10::AnyType::get(), absl::StrCat(name, ".", i)));
      }
      if (kind == "Tuple") return c10::ivalue::Tuple::create(std::move(elements));
      ASSIGN_OR_RETURN(const c10::TypePtr type, CommonType(elements, name));
      c10::impl::GenericList list(type);
      for (c10::IValue& element : elements) list.push_back(std::move(element));
      return c10::IValue(list);
    }
    if (kind == "Dict") {
      std::vector<c10::IValue> elements;
      const std::vector<std::string> keys = KeysOf(name, /*whole=*/false);
      for (const std::string& key : keys) {
        ASSIGN_OR_RETURN(elements.emplace_back(),
                         Make(c10::AnyType::get(), absl::StrCat(name, ".", key)));
      }
      ASSIGN_OR_RETURN(const c10::TypePtr type, CommonType(elements, name));
      c10::impl::GenericDict dict(c10::StringType::get(), type);
      for (size_t i = 0; i < keys.size(); ++i) dict.insert(keys[i], std::move(elements[i]));
      return c10::IValue(dict);
    }
    if (kind == "int") return MakeLeaf(*c10::IntType::get(), name);
    if (kind == "float") return MakeLeaf(*c10::FloatType::get(), name);
    if (kind == "bool") return MakeLeaf(*c10::BoolType::get(), name);
    if (kind == "complex") return MakeLeaf(*c10::ComplexType::get(), name);
    if (kind == "str") return MakeLeaf(*c10::StringType::get(), name);
    if (kind == "Device") return MakeLeaf(*c10::DeviceObjType::get(), name);
    return MakeLeaf(*c10::TensorType::get(), name);
  }

  static absl::StatusOr<c10::TypePtr> CommonType(const std::vector<c10::IValue>& elements,
                                                 const std::string& name) {
    if (elements.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", Printable(name),
                       ": the type of the elements of an empty structure is unknown"));
    }
    c10::TypePtr type = c10::unshapedType(elements[0].type());
    for (const c10::IValue& element : elements) {
      if (*c10::unshapedType(element.type()) != *type) {
        return absl::InvalidArgumentError(
            absl::StrCat("input ", Printable(name), ": its elements are of different types"));
      }
    }
    return type;
  }

  bool IsThere(const std::string& name) const {
    return values_.contains(name) || !ElementsOf(values_, name).empty();
  }

  // Returns the text after "name." in the names of values: all of it, or up to the next dot. The
  // keys come in the order in which they were given, if it is known.
  std::vector<std::string> KeysOf(const std::string& name, bool whole) const {
    std::vector<std::string> keys;
    for (const auto& [element, data] : ElementsOf(values_, name)) {
      std::string key = element.substr(name.size() + 1);
      if (key.empty()) continue;  // the order
      if (!whole) key = key.substr(0, key.find('.'));
      if (whole && !keys.empty() && key == keys.back() + ".") continue;  // the kind of that one
      if (keys.empty() || keys.back() != key) keys.push_back(std::move(key));
    }
    const std::vector<std::string> order = KeyOrder(name, values_);
    if (order.empty()) return keys;
    absl::flat_hash_map<std::string, size_t> places;
    for (const std::string& key : order) places.try_emplace(key, places.size());
    std::stable_sort(keys.begin(), keys.end(), [&](const std::string& a, const std::string& b) {
      const auto x = places.find(a), y = places.find(b);
      return (x == places.end() ? order.size() : x->second) <
             (y == places.end() ? order.size() : y->second);
    });
    return keys;
  }

  absl::StatusOr<c10::IValue> MakeList(const c10::TypePtr& element, const std::string& name) {
    c10::impl::GenericList list(c10::unshapedType(element));
    for (size_t i = 0; IsThere(absl::StrCat(name, ".", i)); ++i) {
      ASSIGN_OR_RETURN(c10::IValue value, Make(element, absl::StrCat(name, ".", i)));
      list.push_back(std::move(value));
    }
    return c10::IValue(list);
  }

  static absl::StatusOr<c10::IValue> MakeKey(const c10::TypePtr& type, const std::string& key) {
    int64_t integer = 0;
    double real = 0;
    bool truth = false;
    switch (type->kind()) {
      case TypeKind::IntType:
        if (absl::SimpleAtoi(key, &integer)) return c10::IValue(integer);
        break;
      case TypeKind::FloatType:
        if (absl::SimpleAtod(key, &real)) return c10::IValue(real);
        break;
      case TypeKind::BoolType:
        if (absl::SimpleAtob(key, &truth)) return c10::IValue(truth);
        break;
      case TypeKind::StringType: return c10::IValue(key);
      default: break;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("the key ", Printable(key), " is not of type ", type->annotation_str()));
  }

  absl::StatusOr<c10::IValue> MakeDict(const c10::TypePtr& key_type, const c10::TypePtr& element,
                                       const std::string& name) {
    c10::impl::GenericDict dict(key_type, c10::unshapedType(element));
    const bool is_leaf = element->containedTypes().empty();
    for (const std::string& key : KeysOf(name, is_leaf)) {
      ASSIGN_OR_RETURN(c10::IValue value, Make(element, absl::StrCat(name, ".", key)));
      ASSIGN_OR_RETURN(c10::IValue made, MakeKey(key_type, key));
      dict.insert(std::move(made), std::move(value));
    }
    return c10::IValue(dict);
  }

  absl::StatusOr<c10::IValue> MakeLeaf(const c10::Type& type, const std::string& name) {
    const auto it = values_.find(name);
    if (it == values_.end()) return NoValue(name);
    ASSIGN_OR_RETURN(at::Tensor tensor, make_(name, it->second));
    if (type.kind() == TypeKind::TensorType) return c10::IValue(std::move(tensor));
    return Guarded([&]() -> absl::StatusOr<c10::IValue> {
      switch (type.kind()) {
        case TypeKind::IntType: return c10::IValue(tensor.item().toLong());
        case TypeKind::FloatType: return c10::IValue(tensor.item().toDouble());
        case TypeKind::BoolType: return c10::IValue(tensor.item().toBool());
        case TypeKind::ComplexType: return c10::IValue(tensor.item().toComplexDouble());
        case TypeKind::NumberType: return c10::IValue(tensor.item());
        case TypeKind::StringType: return TextOf(tensor);
        case TypeKind::DeviceObjType: return c10::IValue(c10::Device(TextOf(tensor).toStringRef()));
        default:
          return absl::InvalidArgumentError(absl::StrCat("input ", Printable(name), " is of type ",
                                                         Printable(type.annotation_str())));
      }
    });
  }

  const Values& values_;
  TensorMaker make_;
};

// Adds the values of one input.
class Adder {
 public:
  explicit Adder(Values* values) : values_(*values) {}

  absl::Status Add(const c10::IValue& value, const c10::TypePtr& type, const std::string& name,
                   bool says_kind, int depth = 0) {
    if (depth > kMaxNesting || --parts_ < 0)
      return absl::ResourceExhaustedError("the value has too many parts");
    c10::TypePtr inner = type;
    if (type->kind() == TypeKind::OptionalType)
      inner = type->expectRef<c10::OptionalType>().getElementType();
    if (inner->kind() == TypeKind::UnionType || inner->kind() == TypeKind::AnyType) {
      says_kind = true;
      inner = value.type();
    }
    if (value.isNone()) {
      AddKind(name, "None", &values_);
      return absl::OkStatus();
    }
    const auto add = [&](const c10::IValue& element, size_t which, absl::string_view key) {
      const c10::TypePtr element_type =
          which < inner->containedTypes().size() ? inner->containedType(which) : element.type();
      return Add(element, element_type, absl::StrCat(name, ".", key), says_kind, depth + 1);
    };
    size_t size = 0;
    if (value.isList()) {
      for (const c10::IValue& element : value.toList()) {
        RETURN_IF_ERROR(add(element, 0, absl::StrCat(size++)));
      }
    } else if (value.isTuple()) {
      for (const c10::IValue& element : value.toTupleRef().elements()) {
        RETURN_IF_ERROR(add(element, size, absl::StrCat(size)));
        ++size;
      }
    } else if (value.isGenericDict()) {
      std::vector<std::string> keys;
      for (const auto& entry : value.toGenericDict()) {
        ASSIGN_OR_RETURN(keys.emplace_back(), KeyText(entry.key()));
        RETURN_IF_ERROR(add(entry.value(), 1, keys.back()));
      }
      size = keys.size();
      AddKeyOrder(name, keys, &values_);
    } else {
      ASSIGN_OR_RETURN(values_[name], DataOf(value));
      size = 1;
    }
    if (says_kind || size == 0) AddKind(name, WordOf(*value.type()), &values_);
    return absl::OkStatus();
  }

 private:
  static absl::StatusOr<std::string> KeyText(const c10::IValue& key) {
    if (key.isString()) return key.toStringRef();
    if (key.isInt()) return absl::StrCat(key.toInt());
    if (key.isBool()) return std::string(key.toBool() ? "true" : "false");
    if (key.isDouble()) return absl::StrFormat("%.17g", key.toDouble());
    return absl::InvalidArgumentError("a key is neither a text nor a number");
  }

  static absl::StatusOr<TensorData> DataOf(const c10::IValue& value) {
    if (value.isString()) return TextData(value.toStringRef());
    if (value.isDevice()) return TextData(value.toDevice().str());
    return Guarded([&]() -> absl::StatusOr<TensorData> {
      if (value.isTensor()) return ToTensorData(value.toTensor());
      if (value.isInt()) return ToTensorData(at::scalar_tensor(value.toInt(), at::kLong));
      if (value.isDouble()) return ToTensorData(at::scalar_tensor(value.toDouble(), at::kDouble));
      if (value.isBool()) return ToTensorData(at::scalar_tensor(value.toBool(), at::kBool));
      if (value.isComplexDouble())
        return ToTensorData(at::scalar_tensor(value.toScalar(), at::kComplexDouble));
      return absl::InvalidArgumentError(
          absl::StrCat("the value is of type ", Printable(value.type()->annotation_str())));
    });
  }

  Values& values_;
  int64_t parts_ = int64_t{1} << 16;
};

}  // namespace

bool IsStructure(const Node& placeholder) {
  return (placeholder.meta() != nullptr && placeholder.meta()->is_tuple) ||
         IsStructure(placeholder.annotation()) || TakesSeveralKinds(placeholder.annotation());
}

c10::IValue TextOf(const at::Tensor& tensor) {
  TORCH_CHECK(tensor.scalar_type() == at::kByte && tensor.dim() == 1,
              "a text is given as the u8 tensor of its bytes");
  const at::Tensor bytes = tensor.cpu().contiguous();
  return std::string(static_cast<const char*>(bytes.const_data_ptr()),
                     static_cast<size_t>(bytes.numel()));
}

absl::StatusOr<c10::IValue> MakeStructure(const Node& placeholder, const Values& values,
                                          TensorMaker make) {
  c10::TypePtr type;
  if (placeholder.annotation() == "Scalar") {
    type = c10::NumberType::get();
  } else if (IsStructure(placeholder.annotation()) || TakesSeveralKinds(placeholder.annotation())) {
    absl::StatusOr<c10::TypePtr> parsed = ParseAnnotation(placeholder.annotation());
    if (!parsed.ok()) {
      return Annotate(parsed.status(), absl::StrCat("input ", Printable(placeholder.target())));
    }
    type = *std::move(parsed);
  } else {
    type = TypeOf(*placeholder.meta());
  }
  return MakeStructure(type, std::string(placeholder.target()), values, make);
}

absl::StatusOr<c10::IValue> MakeStructure(const c10::TypePtr& type, const std::string& name,
                                          const Values& values, TensorMaker make) {
  return Maker(values, make).Make(type, name);
}

absl::Status AddValues(const c10::IValue& value, const c10::TypePtr& type, const std::string& name,
                       Values* values) {
  return Adder(values).Add(value, type, name, /*says_kind=*/false);
}

}  // namespace graphnet
