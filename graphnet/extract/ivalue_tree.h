// Internal: walks through TorchScript values: lists, tuples, dicts, and their elements.
#ifndef GRAPHNET_EXTRACT_IVALUE_TREE_H_
#define GRAPHNET_EXTRACT_IVALUE_TREE_H_

#include <functional>
#include <string>
#include <vector>

#include "ATen/core/ivalue.h"
#include "absl/functional/function_ref.h"

namespace graphnet::extract {

// Returns true for a defined tensor.
bool IsTensor(const c10::IValue& value);

// Returns an address that no other list or dict has while this one lives.
inline const void* IdentityOf(const c10::IValue& container) {
  return container.internalToPointer();
}

// Calls fn for each tensor in `value`, including those in keys of dicts.
void ForEachTensor(const c10::IValue& value, absl::FunctionRef<void(const at::Tensor&)> fn);
// Returns true if is_such(tensor) is true for a tensor in `values`.
bool AnyTensor(const std::vector<c10::IValue>& values,
               absl::FunctionRef<bool(const at::Tensor&)> is_such);
// Returns true if `values` hold an object of a class that is written in C++.
bool AnyObject(const std::vector<c10::IValue>& values);
// Returns true if is_such(leaf) is true for `value` itself or for a number in it. Skips tensors and
// the elements of lists of bools.
bool AnyLeaf(const c10::IValue& value, absl::FunctionRef<bool(const c10::IValue&)> is_such);
// Returns true if `value` is or holds a number that is not plain: a size that depends on a symbol,
// or a number that the run has read (run_number.h).
bool HasSymbols(const c10::IValue& value);
// Calls fn for each list and dict, outer ones first.
void ForEachContainer(const c10::IValue& value, absl::FunctionRef<void(const c10::IValue&)> fn);

// Returns a copy with change(leaf) in place of each value that is not a container; lists of plain
// floats or bools stay as they are. Parts that `value` shares are shared in the copy. Throws if
// `value` nests deeper than kMaxNesting.
c10::IValue MapLeaves(const c10::IValue& value,
                      absl::FunctionRef<c10::IValue(const c10::IValue&)> change);

// Prints as TorchScript does; to standard output if `print` is empty.
void Print(const std::vector<c10::IValue>& values,
           const std::function<void(const std::string&)>& print);
// Warns as TorchScript does; the first of `values` is the message.
void Warn(const std::vector<c10::IValue>& values);

}  // namespace graphnet::extract

#endif  // GRAPHNET_EXTRACT_IVALUE_TREE_H_
