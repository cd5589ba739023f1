// Functions that a lowered graph calls besides ATen operators: Python's own operators on
// numbers and sequences, attributes of tensors, constructors, and functions of
// torch.nn.functional whose steps depend on the ranks of their inputs.
#ifndef GRAPHNET_INTERP_BUILTINS_H_
#define GRAPHNET_INTERP_BUILTINS_H_

#include <optional>
#include <string>
#include <vector>

#include "ATen/core/ivalue.h"
#include "ATen/core/jit_type.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "c10/core/Device.h"
#include "graphnet/base/python_numbers.h"

namespace graphnet::interp {

// A function by its name. A call throws c10::Error if Python would raise.
class Builtin {
 public:
  // `target` is the device of the run.
  using Call = c10::IValue (*)(std::vector<c10::IValue>& args, c10::Device target);

  Builtin() = default;
  Builtin(Call call, int num_args) : Builtin(call, num_args, num_args) {}
  Builtin(Call call, int min_args, int max_args)
      : call_(call), min_args_(min_args), max_args_(max_args) {}
  // Calls `numbers` if all arguments are numbers, else `call`. If `call` is null, tensors of one
  // element count as the number in them.
  Builtin(const python::Function* numbers, Call call)
      : call_(call),
        numbers_(numbers),
        min_args_(numbers->min_args),
        max_args_(numbers->max_args) {}

  explicit operator bool() const { return call_ != nullptr || numbers_ != nullptr; }
  // Returns an error if it does not take that many arguments. A call does not check this again.
  absl::Status CheckNumArgs(size_t num_args) const;
  c10::IValue operator()(std::vector<c10::IValue>& args, c10::Device target) const;

 private:
  Call call_ = nullptr;
  const python::Function* numbers_ = nullptr;
  int min_args_ = 0;
  int max_args_ = 0;
};

// Returns an empty Builtin if there is no function of that name.
Builtin FindBuiltin(absl::string_view name);

// Returns Python's operator `name` ("operator.add") on sequences, strings and tensors; null for
// operators that take only numbers.
Builtin::Call FindOperator(absl::string_view name);  // operators.cc
c10::IValue Contains(std::vector<c10::IValue>& args, c10::Device target);
// Returns a bool, int or float; nullopt for other values.
std::optional<python::Number> NumberOf(const c10::IValue& value);
// torch.nn.functional.*
Builtin FindFunction(absl::string_view name);  // functions.cc
// torch.ops.torch_nn.*
Builtin FindLinearCrossEntropy(absl::string_view name);  // linear_cross_entropy.cc
// vmap and autocast, which change the state of the thread.
Builtin FindStateCall(absl::string_view name);  // state.cc

// prim.* and calls that TorchScript's interpreter does itself.
Builtin FindTorchScriptCall(absl::string_view name);  // torchscript.cc
// Attributes that the program has written in this run, by "path:name".
using WrittenAttributes = absl::flat_hash_map<std::string, c10::IValue>;
WrittenAttributes& Written();
// Returns a dict of keys and values, which alternate in `entries`.
c10::IValue MakeDict(c10::TypePtr key_type, std::vector<c10::IValue> entries);

// Starts a run without written attributes. When this goes out of scope, the effects of the run's
// calls of FindStateCall are undone. Runs may nest: the outer one gets its own state back.
class StateGuard {
 public:
  StateGuard();
  ~StateGuard();
  StateGuard(const StateGuard&) = delete;
  StateGuard& operator=(const StateGuard&) = delete;

 private:
  size_t outer_levels_;
  size_t outer_autocasts_;
  WrittenAttributes outer_written_;
};

}  // namespace graphnet::interp

#endif  // GRAPHNET_INTERP_BUILTINS_H_
