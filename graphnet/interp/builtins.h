// What a lowered graph calls besides ATen operators: Python's own operators on
// numbers and sequences, attributes of tensors, constructors, and functions of
// torch.nn.functional whose steps depend on the ranks of their inputs.
#ifndef GRAPHNET_INTERP_BUILTINS_H_
#define GRAPHNET_INTERP_BUILTINS_H_

#include <vector>

#include "ATen/core/ivalue.h"
#include "ATen/core/jit_type.h"
#include "absl/strings/string_view.h"
#include "c10/core/Device.h"

namespace graphnet::interp {

// Throws c10::Error where Python would raise. `target` is the device asked for.
using Builtin = c10::IValue (*)(std::vector<c10::IValue>& args, c10::Device target);

// Null when there is none of that name.
Builtin FindBuiltin(absl::string_view name);

// Python's operator `name` ("add") on numbers, sequences, strings and tensors.
Builtin FindOperator(absl::string_view name);  // operators.cc
// torch.nn.functional.*
Builtin FindFunction(absl::string_view name);  // functions.cc
// vmap and autocast, which change the state of the thread.
Builtin FindStateCall(absl::string_view name);  // state.cc

// prim.* and what TorchScript's interpreter does itself
Builtin FindTorchScriptCall(absl::string_view name);  // torchscript.cc
// Attributes that calls of it have written are as they were at the start.
void ForgetAttributes();
// Of keys and values, which alternate.
c10::IValue MakeDict(c10::TypePtr key_type, std::vector<c10::IValue> entries);

// Undoes what calls of FindStateCall have left behind when it goes out of scope.
class StateGuard {
 public:
  StateGuard();
  ~StateGuard();
  StateGuard(const StateGuard&) = delete;
  StateGuard& operator=(const StateGuard&) = delete;

 private:
  size_t depth_;
};

}  // namespace graphnet::interp

#endif  // GRAPHNET_INTERP_BUILTINS_H_
