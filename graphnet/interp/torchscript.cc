// The calls of TorchScript that are not operators: changing lists and dicts in place,
// objects and their attributes, and checks of types.
#include <limits>
#include <string>

#include "ATen/core/Dict.h"
#include "ATen/core/List.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graphnet/interp/builtins.h"
#include "graphnet/interp/values.h"
#include "torch/custom_class.h"

namespace graphnet::interp {
namespace {

using c10::IValue;
using Args = std::vector<IValue>;

c10::TypePtr TypeNamed(absl::string_view name) {
  if (name == "Tensor") return c10::TensorType::get();
  if (name == "int") return c10::IntType::get();
  if (name == "float") return c10::FloatType::get();
  if (name == "bool") return c10::BoolType::get();
  if (name == "str") return c10::StringType::get();
  if (name == "Device") return c10::DeviceObjType::get();
  if (absl::StartsWith(name, "__torch__.torch.classes.")) {
    if (c10::TypePtr type = torch::getCustomClass(std::string(name))) return type;
  }
  return c10::AnyType::get();
}

// prim.ListConstruct("List[int]", elements…)
IValue ListConstruct(Args& a, c10::Device) {
  absl::string_view type = a[0].toStringRef();
  if (absl::ConsumePrefix(&type, "List[")) absl::ConsumeSuffix(&type, "]");
  CheckNesting(a);
  c10::impl::GenericList list(TypeNamed(type));
  for (size_t i = 1; i < a.size(); ++i) list.push_back(std::move(a[i]));
  return list;
}

// prim.TupleConstruct("", elements…)
IValue TupleConstruct(Args& a, c10::Device) {
  CheckNesting(a);
  return c10::ivalue::Tuple::create(Args(a.begin() + 1, a.end()));
}

// prim.DictConstruct("Dict[str, Tensor]", key, value, …)
IValue DictConstruct(Args& a, c10::Device) {
  absl::string_view type = a[0].toStringRef();
  absl::ConsumePrefix(&type, "Dict[");
  return MakeDict(TypeNamed(type.substr(0, type.find(','))), Args(a.begin() + 1, a.end()));
}

IValue CreateObject(Args&, c10::Device) {
  return c10::impl::GenericDict(c10::StringType::get(), c10::AnyType::get());
}

std::string Key(const Args& a) { return absl::StrCat(a[0].toStringRef(), ":", a[1].toStringRef()); }
// prim.GetAttr(path, name, initial value) or (object, name)
IValue GetAttribute(Args& a, c10::Device) {
  if (!a[0].isString()) return a[0].toGenericDict().at(a[1]);
  TORCH_CHECK(a.size() == 3, "takes the initial value, too");
  // The value may be changed in place, so the next read must return the same one.
  return Written().try_emplace(Key(a), a[2]).first->second;
}
IValue SetAttr(Args& a, c10::Device) {
  if (a[0].isString()) {
    Written()[Key(a)] = a[2];
  } else {
    a[0].toGenericDict().insert_or_assign(a[1], a[2]);
  }
  return IValue();
}

bool IsInstance(const IValue& value, absl::string_view type) {
  if (absl::ConsumePrefix(&type, "Optional[")) {
    absl::ConsumeSuffix(&type, "]");
    return value.isNone() || IsInstance(value, type);
  }
  if (type == "Tensor") return value.isTensor();
  if (type == "int") return value.isInt();
  if (type == "float") return value.isDouble();
  if (type == "bool") return value.isBool();
  if (type == "str") return value.isString();
  if (type == "NoneType") return value.isNone();
  if (type == "Any" || type == "t") return true;
  if (type == "list") return value.isList();
  if (type == "tuple") return value.isTuple();
  if (absl::ConsumePrefix(&type, "List[")) {
    absl::ConsumeSuffix(&type, "]");
    if (!value.isList()) return false;
    for (const IValue& e : value.toListRef()) {
      if (!IsInstance(e, type)) return false;
    }
    return true;
  }
  if (absl::StartsWith(type, "Dict[")) return value.isGenericDict();
  if (absl::StartsWith(type, "Tuple[")) return value.isTuple();
  return false;
}
IValue IsInstanceOf(Args& a, c10::Device) {
  for (const IValue& type : Elements(a[1])) {
    if (IsInstance(a[0], type.toStringRef())) return true;
  }
  return false;
}

IValue Nothing(Args&, c10::Device) { return IValue(); }

}  // namespace

WrittenAttributes& Written() {
  thread_local WrittenAttributes written;
  return written;
}

IValue MakeDict(c10::TypePtr key_type, Args entries) {
  CheckNesting(entries);
  c10::impl::GenericDict dict(std::move(key_type), c10::AnyType::get());
  for (size_t i = 0; i + 1 < entries.size(); i += 2) {
    dict.insert_or_assign(std::move(entries[i]), std::move(entries[i + 1]));
  }
  return dict;
}

Builtin FindTorchScriptCall(absl::string_view name) {
  constexpr int kAny = std::numeric_limits<int>::max();
  static const auto* const table = new absl::flat_hash_map<absl::string_view, Builtin>{
      {"prim.ListConstruct", {ListConstruct, 1, kAny}},
      {"prim.TupleConstruct", {TupleConstruct, 1, kAny}},
      {"prim.DictConstruct", {DictConstruct, 1, kAny}},
      {"prim.CreateObject", {CreateObject, 0, kAny}},
      {"prim.GetAttr", {GetAttribute, 2, 3}},
      {"prim.SetAttr", {SetAttr, 3}},
      {"prim.isinstance", {IsInstanceOf, 2}},
      // Output for the user has no effect here.
      {"aten.warn.default", {Nothing, 0, kAny}},
      {"prim.Print.default", {Nothing, 0, kAny}},
  };
  const auto it = table->find(name);
  return it == table->end() ? Builtin() : it->second;
}

}  // namespace graphnet::interp
