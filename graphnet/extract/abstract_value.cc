#include "graphnet/extract/abstract_value.h"

#include <algorithm>

#include "ATen/core/jit_type.h"
#include "graphnet/base/limits.h"

namespace graphnet::extract {

using c10::IValue;

namespace {

// Longer lists of constants are not kept element by element.
constexpr size_t kMaxExact = 64;
constexpr uint8_t kOfMemory = kKnown | kUnknown | kAttribute | kOther;

}  // namespace

AbstractValue AbstractMemory::Constant(IValue value) {
  return {.is_any = true, .constant = std::move(value)};
}

AbstractValue AbstractMemory::Number(bool of_data) { return {.is_any = true, .of_data = of_data}; }

AbstractValue AbstractMemory::Tensor(uint8_t facts) {
  return {.is_any = true,
          .tensor = static_cast<uint8_t>(facts & ~kOfMemory),
          .cell = Make({.facts = static_cast<uint8_t>(facts & kOfMemory)})};
}

AbstractValue AbstractMemory::List(std::vector<AbstractValue> elements) {
  AbstractValue list = Container({});
  if (elements.size() <= kMaxExact) {
    cells_.back().exact = std::move(elements);
    return list;
  }
  AbstractValue all;
  for (const AbstractValue& element : elements) all = Join(all, element);
  cells_[static_cast<size_t>(list.cell)].element = std::move(all);
  return list;
}

AbstractValue AbstractMemory::Container(AbstractValue element) {
  return {.is_any = true, .cell = Make({.element = std::move(element)})};
}

AbstractValue AbstractMemory::Tuple(std::vector<AbstractValue> elements) {
  return {.is_any = true,
          .elements = std::make_shared<const std::vector<AbstractValue>>(std::move(elements))};
}

AbstractValue AbstractMemory::NewObject() { return {.is_any = true, .cell = Make({})}; }

AbstractValue AbstractMemory::OfType(const c10::Type& type, int depth) {
  if (depth > kMaxNesting || !Charge()) return Number(false);
  switch (type.kind()) {
    case c10::TypeKind::TensorType:
      return Tensor(kUnknown | kOther | kFixedSizes | kBool | kOtherDtype);
    case c10::TypeKind::AnyType: {
      AbstractValue any = Tensor(kKnown | kUnknown | kOther | kFixedSizes | kBool | kOtherDtype);
      any.may_be_none = true;
      return any;
    }
    case c10::TypeKind::NoneType: return Constant(IValue());
    case c10::TypeKind::OptionalType: {
      AbstractValue value = OfType(*type.containedType(0), depth + 1);
      value.may_be_none = true;
      return value;
    }
    case c10::TypeKind::FutureType: return OfType(*type.containedType(0), depth + 1);
    case c10::TypeKind::ListType: return Container(OfType(*type.containedType(0), depth + 1));
    case c10::TypeKind::DictType: return Container(OfType(*type.containedType(1), depth + 1));
    case c10::TypeKind::UnionType: {
      AbstractValue any;
      for (const c10::TypePtr& t : type.containedTypes()) any = Join(any, OfType(*t, depth + 1));
      any.constant.reset();
      any.may_be_none = true;
      return any;
    }
    case c10::TypeKind::TupleType: {
      std::vector<AbstractValue> elements;
      for (const c10::TypePtr& t : type.containedTypes()) elements.push_back(OfType(*t, depth + 1));
      return Tuple(std::move(elements));
    }
    default: return Number(false);
  }
}

AbstractValue AbstractMemory::OfIValue(const IValue& value, bool of_attribute, int depth) {
  if (depth > kMaxNesting || !Charge()) return Number(false);
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined()) return Constant(IValue());
    AbstractValue out = {.is_any = true, .tensor = kFixedSizes};
    out.tensor |= tensor.scalar_type() == at::kBool ? kBool : kOtherDtype;
    const uint8_t facts = of_attribute ? kUnknown | kAttribute : kKnown | kOther;
    if (!tensor.has_storage()) {
      out.cell = Make({.facts = facts});
      return out;
    }
    const auto [it, is_new] = storages_.try_emplace(tensor.storage().unsafeGetStorageImpl(), -1);
    if (is_new) it->second = Make({.facts = facts});
    out.cell = it->second;
    return out;
  }
  if (value.isList() || value.isTuple()) {
    std::vector<AbstractValue> elements;
    if (value.isTuple()) {
      for (const IValue& e : value.toTupleRef().elements())
        elements.push_back(OfIValue(e, of_attribute, depth + 1));
      return Tuple(std::move(elements));
    }
    for (const IValue& e : value.toListRef())
      elements.push_back(OfIValue(e, of_attribute, depth + 1));
    return List(std::move(elements));
  }
  if (value.isGenericDict()) {
    AbstractValue any;
    for (const auto& entry : value.toGenericDict())
      any = Join(any, OfIValue(entry.value(), of_attribute, depth + 1));
    return Container(std::move(any));
  }
  if (value.isObject()) {
    AbstractValue out = {.is_any = true, .is_foreign = value.isCustomClass()};
    if (!out.is_foreign) out.object = value.toObjectRef().type() ? &value.toObjectRef() : nullptr;
    return out;
  }
  return Constant(value);
}

uint8_t AbstractMemory::FactsOf(const AbstractValue& tensor) {
  return tensor.tensor |
         (tensor.cell < 0 ? 0 : cells_[static_cast<size_t>(Find(tensor.cell))].facts);
}

void AbstractMemory::ForEachTensor(const AbstractValue& value,
                                   absl::FunctionRef<void(const AbstractValue&)> fn, int depth) {
  if (depth > kMaxNesting || !Charge()) return;
  if (value.tensor != 0) fn(value);
  if (value.elements != nullptr) {
    for (const AbstractValue& element : *value.elements) ForEachTensor(element, fn, depth + 1);
  }
  if (value.cell < 0) return;
  const Cell& cell = cells_[static_cast<size_t>(Find(value.cell))];
  if (cell.element.is_any) ForEachTensor(cell.element, fn, depth + 1);
  if (!cell.exact) return;
  for (const AbstractValue& element : *cell.exact) ForEachTensor(element, fn, depth + 1);
}

bool AbstractMemory::HoldsForeign(const AbstractValue& value, int depth) {
  if (depth > kMaxNesting || !Charge()) return false;
  if (value.is_foreign) return true;
  const auto holds = [&](const AbstractValue& element) { return HoldsForeign(element, depth + 1); };
  if (value.elements != nullptr &&
      std::any_of(value.elements->begin(), value.elements->end(), holds))
    return true;
  if (value.cell < 0) return false;
  const Cell& cell = cells_[static_cast<size_t>(Find(value.cell))];
  return holds(cell.element) ||
         (cell.exact && std::any_of(cell.exact->begin(), cell.exact->end(), holds));
}

const std::vector<AbstractValue>* AbstractMemory::ElementsOf(const AbstractValue& list) {
  if (list.cell < 0) return nullptr;
  const Cell& cell = cells_[static_cast<size_t>(Find(list.cell))];
  return cell.exact ? &*cell.exact : nullptr;
}

AbstractValue AbstractMemory::ElementOf(const AbstractValue& container) {
  if (container.cell < 0) return {};
  const int cell = Find(container.cell);
  AbstractValue all = cells_[static_cast<size_t>(cell)].element;
  if (const std::vector<AbstractValue>* exact = ElementsOf(container)) {
    const std::vector<AbstractValue> elements = *exact;  // Join may merge their cell.
    for (const AbstractValue& element : elements) all = Join(all, element);
  }
  return all;
}

std::optional<IValue> AbstractMemory::ConstantOf(const AbstractValue& value,
                                                 const c10::Type& type) {
  if (value.constant) return value.constant;
  if (type.kind() != c10::TypeKind::ListType) return std::nullopt;
  const std::vector<AbstractValue>* const elements = ElementsOf(value);
  const c10::TypePtr element_type = type.containedType(0);
  const c10::TypeKind kind = element_type->kind();
  if (elements == nullptr || (kind != c10::TypeKind::IntType && kind != c10::TypeKind::FloatType &&
                              kind != c10::TypeKind::BoolType && kind != c10::TypeKind::StringType))
    return std::nullopt;
  c10::impl::GenericList list(element_type);
  for (const AbstractValue& element : *elements) {
    if (!element.constant || !element.constant->type()->isSubtypeOf(*element_type))
      return std::nullopt;
    list.push_back(*element.constant);
  }
  return IValue(list);
}

bool AbstractMemory::AreSame(const AbstractValue& a, const AbstractValue& b, int depth) {
  if (depth > kMaxNesting || !Charge()) return true;
  const bool are_alike =
      a.is_any == b.is_any && a.may_be_none == b.may_be_none && a.of_data == b.of_data &&
      a.tensor == b.tensor && a.object == b.object && a.is_foreign == b.is_foreign &&
      a.constant.has_value() == b.constant.has_value() && (a.cell < 0) == (b.cell < 0) &&
      (a.elements == nullptr) == (b.elements == nullptr);
  if (!are_alike ||
      (a.constant && !(a.constant->type() == b.constant->type() && *a.constant == *b.constant)))
    return false;
  if (a.cell >= 0 && Find(a.cell) != Find(b.cell)) return false;
  if (a.elements == nullptr || a.elements == b.elements) return true;
  if (a.elements->size() != b.elements->size()) return false;
  for (size_t i = 0; i < a.elements->size(); ++i) {
    if (!AreSame((*a.elements)[i], (*b.elements)[i], depth + 1)) return false;
  }
  return true;
}

AbstractValue AbstractMemory::Join(const AbstractValue& a, const AbstractValue& b, int depth) {
  if (!a.is_any) return b;
  if (!b.is_any || depth > kMaxNesting || !Charge()) return a;
  const auto is_none = [](const AbstractValue& v) { return v.constant && v.constant->isNone(); };
  AbstractValue out = {.is_any = true,
                       .may_be_none = a.may_be_none || b.may_be_none || is_none(a) || is_none(b),
                       .of_data = a.of_data || b.of_data,
                       .tensor = static_cast<uint8_t>(a.tensor | b.tensor),
                       .is_foreign = a.is_foreign || b.is_foreign};
  if (a.constant && b.constant && a.constant->tagKind() == b.constant->tagKind() &&
      *a.constant == *b.constant) {
    out.constant = a.constant;
    out.may_be_none = false;
  }
  if (a.object == b.object) out.object = a.object;
  out.cell = a.cell < 0 ? b.cell : b.cell < 0 ? a.cell : Merge(a.cell, b.cell, depth + 1);
  if (a.elements == nullptr || b.elements == nullptr || a.elements == b.elements) {
    out.elements = a.elements == nullptr ? b.elements : a.elements;
  } else if (a.elements->size() == b.elements->size()) {
    std::vector<AbstractValue> elements;
    for (size_t i = 0; i < a.elements->size(); ++i)
      elements.push_back(Join((*a.elements)[i], (*b.elements)[i], depth + 1));
    out.elements = std::make_shared<const std::vector<AbstractValue>>(std::move(elements));
  }
  return out;
}

void AbstractMemory::Forget(const AbstractValue& tensor) {
  if (tensor.cell < 0) return;
  const int root = Find(tensor.cell);
  const Cell& cell = cells_[static_cast<size_t>(root)];
  const bool surely = !cell.is_merged && cell.depth >= depth_;
  SetFacts(root, static_cast<uint8_t>((surely ? cell.facts & ~kKnown : cell.facts) | kUnknown));
}

void AbstractMemory::Add(const AbstractValue& container, const AbstractValue& element) {
  if (container.cell < 0) return;
  // A list that has been changed no longer has elements by index.
  AbstractValue all = Join(ElementOf(container), element);
  const int root = Find(container.cell);
  Cell& cell = cells_[static_cast<size_t>(root)];
  if (cell.exact.has_value() || !AreSame(all, cell.element)) CountChange(root);
  cell.exact.reset();
  cell.element = std::move(all);
}

void AbstractMemory::MarkAsAttribute(const AbstractValue& container) {
  if (container.cell >= 0) cells_[static_cast<size_t>(Find(container.cell))].is_attribute = true;
}

bool AbstractMemory::IsAttribute(const AbstractValue& container) {
  return container.cell >= 0 && cells_[static_cast<size_t>(Find(container.cell))].is_attribute;
}

const AbstractValue* AbstractMemory::Attribute(const AbstractValue& object,
                                               const std::string& name) {
  if (object.cell < 0) return nullptr;
  const auto& attributes = cells_[static_cast<size_t>(Find(object.cell))].attributes;
  const auto it = attributes.find(name);
  return it == attributes.end() ? nullptr : &it->second;
}

void AbstractMemory::SetAttribute(const AbstractValue& object, const std::string& name,
                                  AbstractValue value) {
  if (object.cell < 0) return;
  const AbstractValue* const before = Attribute(object, name);
  if (before != nullptr) {
    const AbstractValue old = *before;
    const Cell& cell = cells_[static_cast<size_t>(Find(object.cell))];
    if (cell.is_merged || cell.depth < depth_) value = Join(old, value);
    if (!AreSame(old, value)) CountChange(Find(object.cell));
  }
  cells_[static_cast<size_t>(Find(object.cell))].attributes[name] = std::move(value);
}

int AbstractMemory::Make(Cell cell) {
  cell.depth = depth_;
  Charge();
  cells_.push_back(std::move(cell));
  return static_cast<int>(cells_.size()) - 1;
}

int AbstractMemory::Find(int cell) {
  int root = cell;
  while (cells_[static_cast<size_t>(root)].parent >= 0)
    root = cells_[static_cast<size_t>(root)].parent;
  while (cell != root) cell = std::exchange(cells_[static_cast<size_t>(cell)].parent, root);
  return root;
}

int AbstractMemory::Merge(int a, int b, int depth) {
  a = Find(a);
  b = Find(b);
  if (a == b) return a;
  // The older cell stays.
  if (b < a) std::swap(a, b);
  const Cell old = cells_[static_cast<size_t>(a)];
  const Cell other = std::move(cells_[static_cast<size_t>(b)]);
  cells_[static_cast<size_t>(b)] = Cell{.parent = a};
  {
    Cell& cell = cells_[static_cast<size_t>(a)];
    cell.is_merged = true;
    cell.depth = std::min(cell.depth, other.depth);
    cell.facts |= other.facts;
    cell.is_attribute |= other.is_attribute;
    if (cell.facts != old.facts || cell.is_attribute != old.is_attribute) CountChange(a);
  }
  // The elements may lead back here, and must find the two merged already.
  AbstractValue element = Join(old.element, other.element, depth);
  std::optional<std::vector<AbstractValue>> exact;
  if (old.exact && other.exact && old.exact->size() == other.exact->size()) {
    exact.emplace();
    for (size_t i = 0; i < old.exact->size(); ++i)
      exact->push_back(Join((*old.exact)[i], (*other.exact)[i], depth));
  } else {
    for (const auto* elements : {&old.exact, &other.exact}) {
      if (!*elements) continue;
      for (const AbstractValue& e : **elements) element = Join(element, e, depth);
    }
  }
  std::map<std::string, AbstractValue> attributes = old.attributes;
  for (const auto& [name, value] : other.attributes)
    attributes[name] = Join(attributes[name], value, depth);
  Cell& cell = cells_[static_cast<size_t>(Find(a))];
  const bool differs = exact.has_value() != old.exact.has_value() || !AreSame(element, old.element);
  cell.element = std::move(element);
  cell.exact = std::move(exact);
  cell.attributes = std::move(attributes);
  if (differs) CountChange(a);
  return Find(a);
}

void AbstractMemory::SetFacts(int cell, uint8_t facts) {
  Cell& of = cells_[static_cast<size_t>(cell)];
  if (of.facts != facts) CountChange(cell);
  of.facts = facts;
}

}  // namespace graphnet::extract
