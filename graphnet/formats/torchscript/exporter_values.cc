// Exports arguments of the IR as values of TorchScript.
#include <algorithm>
#include <bit>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "graphnet/base/limits.h"
#include "graphnet/base/status.h"
#include "graphnet/formats/torchscript/exporter_graph.h"
#include "graphnet/interp/torch/values.h"

namespace graphnet::torchscript {

namespace jit = torch::jit;

namespace {

constexpr size_t kMaxTypeSize = size_t{1} << 16;

// Returns the type that holds values of both; null if there is none. A null argument
// is an unknown type.
c10::TypePtr Unify(const c10::TypePtr& a, const c10::TypePtr& b) {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  return c10::unifyTypes(a, b).value_or(nullptr);
}

}  // namespace

jit::Value* GraphExporter::None() { return graph_->insertConstant(c10::IValue()); }

jit::Value* GraphExporter::InsertConstant(const c10::IValue& constant) {
  if (constant.isInt()) return InsertInt(constant.toInt());
  if (!IsGarbled(constant)) return graph_->insertConstant(constant);
  // Attributes keep the value to the bit.
  std::string key = constant.tagKind();
  if (constant.isString()) {
    absl::StrAppend(&key, " ", constant.toStringRef());
  } else {
    const c10::complex<double> number =
        constant.isDouble() ? constant.toDouble() : constant.toComplexDouble();
    absl::StrAppend(&key, " ", std::bit_cast<uint64_t>(number.real()), " ",
                    std::bit_cast<uint64_t>(number.imag()));
  }
  const AttributeTree::Place*& place = constants_[key];
  if (place == nullptr) {
    std::string path;
    do {
      path = absl::StrCat("_constant", num_constants_++);
    } while (attributes_.Find(path) != nullptr);
    place = &attributes_.Add(path, constant.type(), constant, AttributeTree::Kind::kOther);
  }
  return InsertRead(*place);
}

jit::Value* GraphExporter::InsertInt(int64_t number) {
  jit::Value*& value = ints_[number];
  if (value == nullptr) {
    const jit::WithInsertPoint at_start(graph_->param_node()->next());
    value = graph_->insertConstant(number);
  }
  return value;
}

absl::StatusOr<jit::Value*> GraphExporter::InsertStructure(jit::Node* node) {
  jit::Value* const value = graph_->insertNode(node)->output();
  // A tuple that holds the one before twice doubles the type at each step, and LibTorch
  // compares types recursively.
  const TypeExtent extent = ExtentOf(value->type());
  if (extent.parts > kMaxTypeSize) return Error("the type of its value is too large");
  if (extent.height > kMaxNesting) return Error("the type of its value nests too deep");
  return value;
}

GraphExporter::TypeExtent GraphExporter::ExtentOf(const c10::TypePtr& type) {
  const auto it = type_extents_.find(type.get());
  if (it != type_extents_.end()) return it->second.second;
  TypeExtent extent;
  if (type->kind() != c10::TypeKind::ClassType) {
    for (const c10::TypePtr& inner : type->containedTypes()) {
      const TypeExtent part = ExtentOf(inner);
      extent.parts = std::min(extent.parts + part.parts, kMaxTypeSize + 1);
      extent.height = std::max(extent.height, part.height + 1);
    }
  }
  type_extents_[type.get()] = {type, extent};
  return extent;
}

void GraphExporter::Bind(const Node& node, jit::Value* value) {
  if (!value->hasDebugName()) value->setDebugName(Identifier(node.name()));
  bound_[&node] = {.values = {value}};
}

absl::StatusOr<GraphExporter::Bound> GraphExporter::BoundOf(const Argument& argument) {
  if (argument.is_node()) return bound_[argument.node()];
  ASSIGN_OR_RETURN(jit::Value* const value, ValueOf(argument));
  return Bound{.values = {value}};
}

absl::StatusOr<c10::TypePtr> GraphExporter::AnnotatedType(const Node& node,
                                                          c10::TypePtr otherwise) const {
  if (node.annotation().empty()) return otherwise;
  absl::StatusOr<c10::TypePtr> type = types_.Parse(node.annotation());
  return type.ok() ? type : ErrorOf(node, type.status().message());
}

c10::TypePtr GraphExporter::TypeOf(const Argument& argument) const {
  const auto common = [&](absl::Span<const Argument> elements, size_t first, size_t step) {
    c10::TypePtr type;
    for (size_t i = first; i < elements.size(); i += step) {
      const c10::TypePtr unified = Unify(type, TypeOf(elements[i]));
      if (unified != nullptr) type = unified;  // Elements that do not fit fail later.
    }
    return type;
  };
  switch (argument.kind()) {
    case Argument::Kind::kNode: {
      const auto it = bound_.find(argument.node());
      // FindState asks for initial values before the graph is built.
      if (it == bound_.end()) return c10::TensorType::get();
      const Bound& bound = it->second;
      if (!bound.is_tuple) {
        return bound.values.empty() ? c10::NoneType::get() : bound.values[0]->type();
      }
      std::vector<c10::TypePtr> types;
      for (const jit::Value* value : bound.values) types.push_back(value->type());
      return c10::TupleType::create(types);
    }
    case Argument::Kind::kList: {
      const c10::TypePtr element = common(argument.elements(), 0, 1);
      return element == nullptr ? nullptr : c10::ListType::create(element);
    }
    case Argument::Kind::kTuple: {
      std::vector<c10::TypePtr> types;
      for (const Argument& element : argument.elements()) {
        types.push_back(TypeOf(element));
        if (types.back() == nullptr) return nullptr;
      }
      return c10::TupleType::create(types);
    }
    case Argument::Kind::kDict: {
      const c10::TypePtr key = common(argument.elements(), 0, 2);
      const c10::TypePtr value = common(argument.elements(), 1, 2);
      return value == nullptr ? nullptr : c10::DictType::create(key, value);
    }
    default: {
      const std::optional<c10::IValue> constant = ConstantOf(argument);
      return constant ? constant->type() : nullptr;
    }
  }
}

jit::Value* GraphExporter::Narrow(jit::Value* value, const c10::TypePtr& wanted) {
  const c10::TypePtr& type = value->type();
  if (wanted == nullptr || type->isSubtypeOf(*wanted)) return value;
  switch (wanted->kind()) {
    case c10::TypeKind::OptionalType:
    case c10::TypeKind::UnionType:
    case c10::TypeKind::AnyType:
    case c10::TypeKind::NoneType: return value;
    default: break;
  }
  c10::TypePtr narrow;
  if (type->kind() == c10::TypeKind::OptionalType) {
    narrow = WithoutOptional(type);
  } else if (const auto* of = type->castRaw<c10::UnionType>()) {
    // Narrow to the only member that fits, or to any of those that are numbers.
    for (const c10::TypePtr& member : of->containedTypes()) {
      const bool fits = wanted->hasFreeVariables() ? member->kind() == wanted->kind()
                                                   : member->isSubtypeOf(*wanted);
      if (!fits) continue;
      if (narrow != nullptr && wanted->kind() != c10::TypeKind::NumberType) return value;
      narrow = narrow == nullptr ? member : wanted;
    }
  } else if (type->kind() == c10::TypeKind::NumberType) {
    narrow = wanted->isSubtypeOf(*type) ? wanted : nullptr;  // what item() yields
  } else if ((type->kind() == c10::TypeKind::AnyType || type->kind() == c10::TypeKind::TupleType) &&
             !wanted->hasFreeVariables() && wanted->isSubtypeOf(*type)) {
    narrow = wanted;
  }
  return narrow == nullptr ? value : graph_->insertUncheckedCast(value, narrow);
}

absl::StatusOr<jit::Value*> GraphExporter::Fit(const Argument& argument,
                                               const c10::TypePtr& wanted) {
  ASSIGN_OR_RETURN(jit::Value* const value, ValueOf(argument, wanted));
  if (wanted != nullptr && !value->type()->isSubtypeOf(*wanted)) {
    return Error(absl::StrCat("a value of type ", value->type()->annotation_str(), " where ",
                              wanted->annotation_str(), " is needed"));
  }
  return value;
}

absl::StatusOr<jit::Value*> GraphExporter::ListOf(absl::Span<const Argument> elements,
                                                  const c10::TypePtr& element_type) {
  std::vector<jit::Value*> values;
  values.reserve(elements.size());
  for (const Argument& element : elements) {
    ASSIGN_OR_RETURN(jit::Value* const value, Fit(element, element_type));
    values.push_back(value);
  }
  return InsertStructure(graph_->createList(element_type, values));
}

absl::StatusOr<jit::Value*> GraphExporter::DictOf(absl::Span<const Argument> entries,
                                                  const c10::DictType* type) {
  std::vector<jit::Value*> keys, values;
  for (size_t i = 0; i < entries.size(); ++i) {
    ASSIGN_OR_RETURN(jit::Value* const value,
                     Fit(entries[i], i % 2 == 0 ? type->getKeyType() : type->getValueType()));
    (i % 2 == 0 ? keys : values).push_back(value);
  }
  return InsertStructure(
      graph_->createDict(type->getKeyType(), type->getValueType(), keys, values));
}

c10::TypePtr GraphExporter::TypeOfData(const Argument& argument) const {
  const c10::TypePtr type = TypeOf(argument);
  return type == nullptr ? nullptr : WithNumbers(type);
}

absl::StatusOr<jit::Value*> GraphExporter::ValueOf(const Argument& argument,
                                                   const c10::TypePtr& wanted) {
  const c10::TypePtr bare = wanted == nullptr ? nullptr : WithoutOptional(wanted);
  const bool is_open = bare == nullptr || bare->hasFreeVariables();
  if (argument.is_node()) {
    const Bound& bound = bound_[argument.node()];
    if (bound.is_tuple) {
      return InsertStructure(graph_->createTuple(bound.values));
    }
    return bound.values.empty() ? None() : Narrow(bound.values[0], wanted);
  }
  if (std::optional<c10::IValue> constant = ConstantOf(argument)) {
    // Convert as Python does if a float or an int is expected.
    if (constant->isInt() && bare == c10::FloatType::get()) {
      constant = static_cast<double>(constant->toInt());
    } else if (constant->isBool() && bare == c10::IntType::get()) {
      constant = static_cast<int64_t>(constant->toBool());
    }
    return InsertConstant(*constant);
  }
  switch (argument.kind()) {
    case Argument::Kind::kList:
    case Argument::Kind::kTuple: {
      // Lists may be written as tuples: `kernel_size=(3, 3)`.
      if (!is_open && bare->kind() == c10::TypeKind::ListType) {
        return ListOf(argument.elements(), bare->expectRef<c10::ListType>().getElementType());
      }
      if (argument.is_list()) {
        const c10::TypePtr type = TypeOf(argument);
        return ListOf(argument.elements(), type == nullptr
                                               ? c10::TensorType::get()
                                               : type->expectRef<c10::ListType>().getElementType());
      }
      const auto* tuple = is_open ? nullptr : bare->castRaw<c10::TupleType>();
      if (tuple != nullptr && tuple->elements().size() != argument.elements().size()) {
        tuple = nullptr;
      }
      std::vector<jit::Value*> values;
      for (const Argument& element : argument.elements()) {
        ASSIGN_OR_RETURN(
            jit::Value* const value,
            ValueOf(element, tuple == nullptr ? nullptr : tuple->elements()[values.size()]));
        values.push_back(value);
      }
      return InsertStructure(graph_->createTuple(values));
    }
    case Argument::Kind::kDict: {
      c10::TypePtr type = is_open ? nullptr : bare;
      if (type == nullptr || type->kind() != c10::TypeKind::DictType) type = TypeOf(argument);
      if (type == nullptr) {
        type = c10::DictType::create(c10::StringType::get(), c10::TensorType::get());
      }
      return DictOf(argument.elements(), type->castRaw<c10::DictType>());
    }
    case Argument::Kind::kSymInt: return Error("a symbolic size must be computed from an input");
    case Argument::Kind::kSlice:
    case Argument::Kind::kEllipsis: return Error("a slice cannot be a value");
    default: return Error("TorchScript has no constant for an argument");
  }
}

absl::StatusOr<c10::IValue> GraphExporter::LiteralOf(const Argument& argument,
                                                     const c10::TypePtr& type) {
  if (argument.is_node()) {
    const Bound& bound = bound_[argument.node()];
    const auto read =
        bound.values.empty() ? reads_of_.end() : reads_of_.find(bound.values[0]->node());
    if (read == reads_of_.end()) return Error("the initial value is not a constant");
    starts_.insert(read->second);
    return read->second->owner.attr(read->second->name);
  }
  if (const std::optional<c10::IValue> constant = ConstantOf(argument)) return *constant;
  const c10::TypePtr bare = WithoutOptional(type);
  std::vector<c10::IValue> values;
  const auto add = [&](const Argument& element, const c10::TypePtr& element_type) -> absl::Status {
    ASSIGN_OR_RETURN(c10::IValue value, LiteralOf(element, element_type));
    values.push_back(std::move(value));
    return absl::OkStatus();
  };
  if (const auto* list = bare->castRaw<c10::ListType>(); list != nullptr && argument.is_list()) {
    for (const Argument& e : argument.elements()) RETURN_IF_ERROR(add(e, list->getElementType()));
    c10::impl::GenericList out(list->getElementType());
    for (c10::IValue& value : values) out.push_back(std::move(value));
    return c10::IValue(out);
  }
  if (const auto* tuple = bare->castRaw<c10::TupleType>();
      tuple != nullptr && argument.is_tuple() &&
      tuple->elements().size() == argument.elements().size()) {
    for (const Argument& e : argument.elements()) {
      RETURN_IF_ERROR(add(e, tuple->elements()[values.size()]));
    }
    return c10::IValue(c10::ivalue::Tuple::create(std::move(values)));
  }
  if (const auto* dict = bare->castRaw<c10::DictType>();
      dict != nullptr && argument.kind() == Argument::Kind::kDict) {
    for (const Argument& e : argument.elements()) {
      RETURN_IF_ERROR(add(e, values.size() % 2 == 0 ? dict->getKeyType() : dict->getValueType()));
    }
    c10::impl::GenericDict out(dict->getKeyType(), dict->getValueType());
    for (size_t i = 0; i < values.size(); i += 2) out.insert(values[i], values[i + 1]);
    return c10::IValue(out);
  }
  return Error(absl::StrCat("the initial value is not of type ", type->annotation_str()));
}

}  // namespace graphnet::torchscript
