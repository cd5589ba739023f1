// Binds the arguments of a call to the overload that PyTorch's Python argument
// parser would choose.
#ifndef GRAPHNET_OPS_BINDER_H_
#define GRAPHNET_OPS_BINDER_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graphnet/ir/argument.h"
#include "graphnet/ops/schema.h"
#include "graphnet/ops/value_type.h"

namespace graphnet {

// A call in canonical form: the arguments that come first by position, those
// after a gap by keyword, what is left out has its default.
struct BoundCall {
  const Schema* schema = nullptr;
  std::vector<Argument> args;
  std::vector<KwArg> kwargs;
  // Lists that the call does not write as such, `x.view(2, 3)` or one number for
  // several; elements of `args` and `kwargs` point here.
  std::vector<std::vector<Argument>> lists;
};

// How the call is written, which says which overloads Python sees.
enum class CallForm { kFunction, kMethod };

using TypeOfNode = absl::FunctionRef<ValueType(const Node*)>;

// Chooses among `overloads`: the first that the arguments fit as they are, then
// the first they fit with the conversions that Python makes (numbers to tensors,
// tensors to numbers); overloads hidden from Python come after those it sees.
// `out`, `requires_grad` and `names` may be given where they say nothing.
// InvalidArgument says why the last visible one did not fit.
absl::StatusOr<BoundCall> Bind(absl::Span<const Schema> overloads, CallForm form,
                               absl::Span<const Argument> args, absl::Span<const KwArg> kwargs,
                               TypeOfNode type_of_node);

// Of any argument.
ValueType TypeOf(const Argument& argument, TypeOfNode type_of_node);

}  // namespace graphnet

#endif  // GRAPHNET_OPS_BINDER_H_
