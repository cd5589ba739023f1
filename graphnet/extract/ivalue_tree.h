// Internal: TorchScript values: lists, tuples, dicts, and what they hold.
#ifndef GRAPHNET_EXTRACT_IVALUE_TREE_H_
#define GRAPHNET_EXTRACT_IVALUE_TREE_H_

#include <functional>
#include <string>
#include <vector>

#include "ATen/core/ivalue.h"
#include "absl/functional/function_ref.h"

namespace graphnet::extract {

// Whether it is a tensor, and not an undefined one.
bool IsTensor(const c10::IValue& value);

// Tells a list or dict from all others while it lives.
inline const void* IdentityOf(const c10::IValue& container) {
  return container.internalToPointer();
}

// Calls fn for each tensor in `value`, those in keys of dicts too.
void ForEachTensor(const c10::IValue& value, absl::FunctionRef<void(const at::Tensor&)> fn);
// Whether there is a tensor in `values` of which is_such(tensor).
bool AnyTensor(const std::vector<c10::IValue>& values,
               absl::FunctionRef<bool(const at::Tensor&)> is_such);
// Whether one of `values` is an object of a class that is written in C++, or holds one.
bool AnyObject(const std::vector<c10::IValue>& values);
// Whether is_such(leaf) of a number in `value`, or of `value`. Tensors are not looked at, nor is
// what lists of bools hold.
bool AnyLeaf(const c10::IValue& value, absl::FunctionRef<bool(const c10::IValue&)> is_such);
// Whether it is a number that is not plain, or holds one: a size that depends on a symbol, or a
// number that the run has read (run_number.h).
bool HasSymbols(const c10::IValue& value);
// For each list and dict, outer ones first.
void ForEachContainer(const c10::IValue& value, absl::FunctionRef<void(const c10::IValue&)> fn);

// A copy with change(leaf) in place of each value that is no container; a list of plain floats
// or bools is itself. The copy shares its parts as `value` does. Throws where it nests deeper than
// kMaxNesting.
c10::IValue MapLeaves(const c10::IValue& value,
                      absl::FunctionRef<c10::IValue(const c10::IValue&)> change);

// As TorchScript prints; to standard output when `print` is empty.
void Print(const std::vector<c10::IValue>& values,
           const std::function<void(const std::string&)>& print);
// The first of `values` is the message.
void Warn(const std::vector<c10::IValue>& values);

}  // namespace graphnet::extract

#endif  // GRAPHNET_EXTRACT_IVALUE_TREE_H_
