#include "graphnet/extract/ivalue_tree.h"

#include <cstdio>
#include <sstream>
#include <utility>

#include "c10/util/Exception.h"
#include "graphnet/base/limits.h"

namespace graphnet::extract {
namespace {

using c10::IValue;

bool IsListOfNumbers(const IValue& value) {
  return value.isIntList() || value.isDoubleList() || value.isBoolList();
}

// Calls enter(value) for `value` and what it holds, outer ones first, as long as that says to
// look inside. A value can hold itself.
void Walk(const IValue& value, absl::FunctionRef<bool(const IValue&)> enter, int depth = 0) {
  if (depth > kMaxNesting || !enter(value)) return;
  if (value.isList()) {
    for (const IValue& element : value.toListRef()) Walk(element, enter, depth + 1);
  } else if (value.isTuple()) {
    for (const IValue& element : value.toTupleRef().elements()) Walk(element, enter, depth + 1);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      Walk(entry.key(), enter, depth + 1);
      Walk(entry.value(), enter, depth + 1);
    }
  }
}

}  // namespace

bool IsTensor(const IValue& value) { return value.isTensor() && value.toTensor().defined(); }

void ForEachTensor(const IValue& value, absl::FunctionRef<void(const at::Tensor&)> fn) {
  Walk(value, [&](const IValue& inner) {
    if (IsTensor(inner)) fn(inner.toTensor());
    return !IsListOfNumbers(inner);
  });
}

bool AnyTensor(const std::vector<IValue>& values,
               absl::FunctionRef<bool(const at::Tensor&)> is_such) {
  bool any = false;
  for (const IValue& value : values) {
    ForEachTensor(value, [&](const at::Tensor& tensor) { any = any || is_such(tensor); });
  }
  return any;
}

bool AnyObject(const std::vector<IValue>& values) {
  bool any = false;
  for (const IValue& value : values) {
    Walk(value, [&](const IValue& inner) {
      any = any || inner.isCustomClass();
      return !IsListOfNumbers(inner) && !inner.isTensorList();
    });
  }
  return any;
}

void ForEachContainer(const IValue& value, absl::FunctionRef<void(const IValue&)> fn) {
  Walk(value, [&](const IValue& inner) {
    if (inner.isList() || inner.isGenericDict()) fn(inner);
    return !IsListOfNumbers(inner) && !inner.isTensorList();
  });
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

void Print(const std::vector<IValue>& values,
           const std::function<void(const std::string&)>& print) {
  std::stringstream text;
  for (size_t i = 0; i < values.size(); ++i) text << (i > 0 ? " " : "") << values[i];
  text << '\n';
  if (print) {
    print(text.str());
  } else {
    std::fputs(text.str().c_str(), stdout);
  }
}

void Warn(const std::vector<IValue>& values) {
  if (values.empty() || !values[0].isString()) return;
  TORCH_WARN(values[0].toStringRef());
}

}  // namespace graphnet::extract
