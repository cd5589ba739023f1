#include "graphnet/extract/ivalue_tree.h"

#include <cstdio>
#include <sstream>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "c10/util/Exception.h"
#include "graphnet/base/limits.h"

namespace graphnet::extract {
namespace {

using c10::IValue;

bool IsListOfNumbers(const IValue& value) {
  return value.isIntList() || value.isDoubleList() || value.isBoolList();
}

bool IsContainer(const IValue& value) {
  return value.isList() || value.isTuple() || value.isGenericDict();
}

// Calls enter(value) for values and their elements, outer ones first; skips the elements if it
// returns false. Lists, tuples and dicts may be shared or hold themselves: each is entered once.
class Walk {
 public:
  explicit Walk(absl::FunctionRef<bool(const IValue&)> enter) : enter_(enter) {}

  void Visit(const IValue& value, int depth = 0) {
    if (depth > kMaxNesting) return;
    if (IsContainer(value) && !seen_.insert(IdentityOf(value)).second) return;
    if (!enter_(value)) return;
    if (value.isList()) {
      for (const IValue& element : value.toListRef()) Visit(element, depth + 1);
    } else if (value.isTuple()) {
      for (const IValue& element : value.toTupleRef().elements()) Visit(element, depth + 1);
    } else if (value.isGenericDict()) {
      for (const auto& entry : value.toGenericDict()) {
        Visit(entry.key(), depth + 1);
        Visit(entry.value(), depth + 1);
      }
    }
  }

 private:
  const absl::FunctionRef<bool(const IValue&)> enter_;
  absl::flat_hash_set<const void*> seen_;
};

// Copies a value. Shared parts stay shared in the copy.
class LeafMapper {
 public:
  explicit LeafMapper(absl::FunctionRef<IValue(const IValue&)> change) : change_(change) {}

  IValue Map(const IValue& value, int depth = 0) {
    if (value.isBoolList() || (value.isDoubleList() && !HasSymbols(value))) return value;
    if (!IsContainer(value)) return change_(value);
    TORCH_CHECK(depth <= kMaxNesting, "a value nests too deep");
    const void* const identity = IdentityOf(value);
    if (const auto it = mapped_.find(identity); it != mapped_.end()) return it->second;
    if (value.isTuple()) {
      std::vector<IValue> elements;
      for (const IValue& element : value.toTupleRef().elements())
        elements.push_back(Map(element, depth + 1));
      return mapped_[identity] = c10::ivalue::Tuple::create(std::move(elements));
    }
    if (value.isList()) {
      c10::impl::GenericList list(value.toList().elementType());
      mapped_[identity] = list;
      for (const IValue& element : value.toListRef()) list.push_back(Map(element, depth + 1));
      return list;
    }
    const auto from = value.toGenericDict();
    c10::impl::GenericDict dict(from.keyType(), from.valueType());
    mapped_[identity] = dict;
    for (const auto& entry : from)
      dict.insert_or_assign(entry.key(), Map(entry.value(), depth + 1));
    return dict;
  }

 private:
  const absl::FunctionRef<IValue(const IValue&)> change_;
  absl::flat_hash_map<const void*, IValue> mapped_;
};

}  // namespace

bool IsTensor(const IValue& value) { return value.isTensor() && value.toTensor().defined(); }

void ForEachTensor(const IValue& value, absl::FunctionRef<void(const at::Tensor&)> fn) {
  const auto enter = [&](const IValue& inner) {
    if (IsTensor(inner)) fn(inner.toTensor());
    return !IsListOfNumbers(inner);
  };
  Walk(enter).Visit(value);
}

bool AnyTensor(const std::vector<IValue>& values,
               absl::FunctionRef<bool(const at::Tensor&)> is_such) {
  bool any = false;
  const auto enter = [&](const IValue& inner) {
    any = any || (IsTensor(inner) && is_such(inner.toTensor()));
    return !any && !IsListOfNumbers(inner);
  };
  Walk walk(enter);
  for (const IValue& value : values) walk.Visit(value);
  return any;
}

bool AnyObject(const std::vector<IValue>& values) {
  bool any = false;
  const auto enter = [&](const IValue& inner) {
    any = any || inner.isCustomClass();
    return !any && !IsListOfNumbers(inner) && !inner.isTensorList();
  };
  Walk walk(enter);
  for (const IValue& value : values) walk.Visit(value);
  return any;
}

bool AnyLeaf(const IValue& value, absl::FunctionRef<bool(const IValue&)> is_such) {
  if (!IsContainer(value)) return is_such(value);
  bool any = false;
  const auto enter = [&](const IValue& inner) {
    any = any || (!IsContainer(inner) && is_such(inner));
    return !any && !inner.isBoolList() && !inner.isTensorList();
  };
  Walk(enter).Visit(value);
  return any;
}

bool HasSymbols(const IValue& value) {
  return AnyLeaf(value, [](const IValue& leaf) { return leaf.isSymInt() || leaf.isSymFloat(); });
}

void ForEachContainer(const IValue& value, absl::FunctionRef<void(const IValue&)> fn) {
  const auto enter = [&](const IValue& inner) {
    if (inner.isList() || inner.isGenericDict()) fn(inner);
    return !IsListOfNumbers(inner) && !inner.isTensorList();
  };
  Walk(enter).Visit(value);
}

IValue MapLeaves(const IValue& value, absl::FunctionRef<IValue(const IValue&)> change) {
  return LeafMapper(change).Map(value);
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
