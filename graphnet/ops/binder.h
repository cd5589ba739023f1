// Binds the arguments of a call to the overload that PyTorch's Python argument
// parser would choose.
#ifndef GRAPHNET_OPS_BINDER_H_
#define GRAPHNET_OPS_BINDER_H_

#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ir/argument.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/schema.h"
#include "graphnet/ops/value_type.h"

namespace graphnet {

// A call whose arguments have found their parameters, however it is written: by position
// or by keyword. It points to the arguments that it was bound from.
class BoundCall {
 public:
  const Schema& schema() const { return *schema_; }
  // The argument of parameter `name`, which the schema must have: its default when none
  // is given.
  const Argument& operator[](absl::string_view name) const;
  // Ditto of the i-th parameter.
  const Argument& operator[](size_t i) const {
    return given_[i] != nullptr ? *given_[i] : schema_->arguments[i].default_value;
  }
  // The first, whatever its name: a function has an `input` that is `self` in the method.
  const Argument& self() const { return (*this)[size_t{0}]; }
  // All, in the order of the parameters.
  std::vector<Argument> all() const;
  bool is_given(size_t i) const { return given_[i] != nullptr; }
  // Whether it is given and not None.
  bool has(absl::string_view name) const { return !(*this)[name].is_none(); }
  // Whether it is True; a number counts as Python has it.
  bool is_true(absl::string_view name) const;
  // The arguments of the variadic parameter.
  absl::Span<const Argument> variadic() const;

  // Appends the call in canonical form: by position as long as nothing is left out, then
  // by keyword.
  void AppendTo(std::vector<Argument>* args, std::vector<KwArg>* kwargs) const;

 private:
  friend class Matcher;
  // A list that the call does not write as such: `x.view(2, 3)`, or one number for several.
  struct Gathered {
    std::vector<Argument> elements;
    Argument list;
  };

  const Schema* schema_ = nullptr;
  std::vector<const Argument*> given_;  // by parameter; null when left out
  std::vector<std::unique_ptr<Gathered>> gathered_;
};

using TypeOfNode = absl::FunctionRef<ValueType(const Node*)>;

// Chooses among the overloads of `callee`: the first that the arguments fit as they are,
// then the first they fit with the conversions that Python makes (numbers to tensors,
// tensors to numbers); overloads hidden from Python come after those it sees. One that
// the target names takes values of any type, as what it is given may say more when it
// runs. To operators, `out`, `requires_grad` and `names` may be given where they say
// nothing. InvalidArgument names a keyword that none takes and its near miss, or says why
// the last visible one did not fit.
absl::StatusOr<BoundCall> Bind(const Callable& callee, absl::Span<const Argument> args,
                               absl::Span<const KwArg> kwargs, TypeOfNode type_of_node);

// Of any argument.
ValueType TypeOf(const Argument& argument, TypeOfNode type_of_node);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_BINDER_H_
