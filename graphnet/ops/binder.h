// Binds the arguments of a call to the overload that PyTorch's Python argument parser would choose.
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

// A call whose arguments are matched to parameters, whether they were passed by position or by
// keyword. It points to the arguments that it was bound from, which must outlive it.
class BoundCall {
 public:
  const Schema& schema() const { return *schema_; }
  // Returns the argument for parameter `name`, which the schema must have, or its default.
  const Argument& operator[](absl::string_view name) const;
  // Returns the argument for the i-th parameter, or its default.
  const Argument& operator[](size_t i) const {
    return given_[i] != nullptr ? *given_[i] : schema_->arguments[i].default_value;
  }
  // Returns the first argument, which is called `input` in a function and `self` in a method.
  const Argument& self() const { return (*this)[size_t{0}]; }
  // Returns all arguments and defaults in the order of the parameters.
  std::vector<Argument> all() const;
  bool is_given(size_t i) const { return given_[i] != nullptr; }
  // Returns whether the argument is a list that this object made of what the call writes.
  bool is_gathered(size_t i) const {
    return std::any_of(gathered_.begin(), gathered_.end(),
                       [&](const auto& one) { return &one->list == given_[i]; });
  }
  // Returns whether the argument, or its default, is not None.
  bool has(absl::string_view name) const { return !(*this)[name].is_none(); }
  // Returns whether the argument, or its default, is True or an integer other than 0.
  bool is_true(absl::string_view name) const;
  // Returns the arguments of the variadic parameter.
  absl::Span<const Argument> variadic() const;

  // Appends the arguments in canonical form: by position up to the first that is omitted, then by
  // keyword.
  void AppendTo(std::vector<Argument>* args, std::vector<KwArg>* kwargs) const;

 private:
  friend class Matcher;
  // A list that the call does not write as a list: `x.view(2, 3)`, or one number for several.
  struct Gathered {
    std::vector<Argument> elements;
    Argument list;
  };

  const Schema* schema_ = nullptr;
  std::vector<const Argument*> given_;  // by parameter; null when left out
  std::vector<std::unique_ptr<Gathered>> gathered_;
};

// Returns the type of a node's value.
using TypeOfNode = absl::FunctionRef<ValueType(const Node*)>;

// Chooses an overload of `callee`: the first that fits the arguments as they are, otherwise the
// first that fits with Python's conversions (numbers to tensors, tensors to numbers). Overloads
// hidden from Python come after visible ones. If the target names an overload, values of any type
// fit at last, because their types may be known only at run time. Operators also accept `out`,
// `names` and `generator` if they are None, and any `requires_grad`. InvalidArgument names a
// keyword that no overload has, with a similar one, or says why the last visible overload did not
// fit.
absl::StatusOr<BoundCall> Bind(const Callable& callee, absl::Span<const Argument> args,
                               absl::Span<const KwArg> kwargs, TypeOfNode type_of_node);

// Returns the type of any argument.
ValueType TypeOf(const Argument& argument, TypeOfNode type_of_node);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_BINDER_H_
