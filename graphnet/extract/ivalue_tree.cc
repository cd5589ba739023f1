#include "graphnet/extract/ivalue_tree.h"

#include <utility>
#include <vector>

#include "graphnet/base/limits.h"

namespace graphnet::extract {
namespace {

using c10::IValue;

bool IsListOfNumbers(const IValue& value) {
  return value.isIntList() || value.isDoubleList() || value.isBoolList();
}

// A value can hold itself.
void EachTensor(const IValue& value, absl::FunctionRef<void(const at::Tensor&)> fn, int depth) {
  if (depth > kMaxNesting) return;
  if (IsTensor(value)) {
    fn(value.toTensor());
  } else if (value.isList() && !IsListOfNumbers(value)) {
    for (const IValue& element : value.toListRef()) EachTensor(element, fn, depth + 1);
  } else if (value.isTuple()) {
    for (const IValue& element : value.toTupleRef().elements()) EachTensor(element, fn, depth + 1);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      EachTensor(entry.key(), fn, depth + 1);
      EachTensor(entry.value(), fn, depth + 1);
    }
  }
}

void EachContainer(const IValue& value, absl::FunctionRef<void(const IValue&)> fn, int depth) {
  if (depth > kMaxNesting) return;
  if (value.isTuple()) {
    for (const IValue& element : value.toTupleRef().elements())
      EachContainer(element, fn, depth + 1);
  } else if (value.isList()) {
    fn(value);
    if (IsListOfNumbers(value) || value.isTensorList()) return;
    for (const IValue& element : value.toListRef()) EachContainer(element, fn, depth + 1);
  } else if (value.isGenericDict()) {
    fn(value);
    for (const auto& entry : value.toGenericDict()) EachContainer(entry.value(), fn, depth + 1);
  }
}

}  // namespace

bool IsTensor(const IValue& value) { return value.isTensor() && value.toTensor().defined(); }

void ForEachTensor(const IValue& value, absl::FunctionRef<void(const at::Tensor&)> fn) {
  EachTensor(value, fn, 0);
}

void ForEachContainer(const IValue& value, absl::FunctionRef<void(const IValue&)> fn) {
  EachContainer(value, fn, 0);
}

IValue MapLeaves(const IValue& value, absl::FunctionRef<IValue(const IValue&)> change) {
  if (value.isTuple()) {
    std::vector<IValue> elements;
    for (const IValue& element : value.toTupleRef().elements())
      elements.push_back(MapLeaves(element, change));
    return c10::ivalue::Tuple::create(std::move(elements));
  }
  if (value.isDoubleList() || value.isBoolList()) return value;
  if (value.isList()) {
    c10::impl::GenericList list(value.toList().elementType());
    for (const IValue& element : value.toListRef()) list.push_back(MapLeaves(element, change));
    return list;
  }
  if (value.isGenericDict()) {
    const auto from = value.toGenericDict();
    c10::impl::GenericDict dict(from.keyType(), from.valueType());
    for (const auto& entry : from)
      dict.insert_or_assign(entry.key(), MapLeaves(entry.value(), change));
    return dict;
  }
  return change(value);
}

}  // namespace graphnet::extract
