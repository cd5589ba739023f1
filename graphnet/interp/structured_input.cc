#include "graphnet/interp/structured_input.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ATen/core/jit_type.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graphnet/base/status.h"
#include "graphnet/interp/inputs/elements.h"
#include "graphnet/interp/tensors.h"
#include "graphnet/interp/torch/annotation.h"
#include "graphnet/interp/torch/status.h"
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

class Maker {
 public:
  Maker(const Values& values, TensorMaker make) : values_(values), make_(make) {}

  absl::StatusOr<c10::IValue> Make(const c10::TypePtr& type, const std::string& name) {
    switch (type->kind()) {
      case TypeKind::OptionalType:
        if (!IsThere(name)) return c10::IValue();
        return Make(type->expectRef<c10::OptionalType>().getElementType(), name);
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
    if (it == values_.end())
      return absl::NotFoundError(absl::StrCat("no value for input ", Printable(name)));
    ASSIGN_OR_RETURN(at::Tensor tensor, make_(name, it->second));
    if (type.kind() == TypeKind::TensorType) return c10::IValue(std::move(tensor));
    return Guarded([&]() -> absl::StatusOr<c10::IValue> {
      switch (type.kind()) {
        case TypeKind::IntType: return c10::IValue(tensor.item().toLong());
        case TypeKind::FloatType: return c10::IValue(tensor.item().toDouble());
        case TypeKind::BoolType: return c10::IValue(tensor.item().toBool());
        case TypeKind::StringType: return TextOf(tensor);
        default:
          return absl::InvalidArgumentError(absl::StrCat("input ", Printable(name), " is of type ",
                                                         Printable(type.annotation_str())));
      }
    });
  }

  const Values& values_;
  TensorMaker make_;
};

}  // namespace

bool IsStructure(const Node& placeholder) {
  return (placeholder.meta() != nullptr && placeholder.meta()->is_tuple) ||
         IsStructure(placeholder.annotation());
}

absl::StatusOr<c10::IValue> MakeStructure(const Node& placeholder, const Values& values,
                                          TensorMaker make) {
  c10::TypePtr type;
  if (IsStructure(placeholder.annotation())) {
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

}  // namespace graphnet
