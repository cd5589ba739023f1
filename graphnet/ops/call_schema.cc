#include "graphnet/ops/call_schema.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "graphnet/base/near_miss.h"
#include "graphnet/base/status.h"
#include "graphnet/ops/binder.h"
#include "graphnet/ops/callable.h"
#include "graphnet/ops/value_type.h"

namespace graphnet {
namespace {

// Returns the type of a value as far as the graph says it.
ValueType TypeOfValue(const Node* node) {
  if (node->is_placeholder()) return TypeOfAnnotation(node->annotation());
  if (node->op() == Op::kGetAttr || node->tensor_meta() != nullptr) return ValueType::Kind::kTensor;
  return {};
}

}  // namespace

absl::StatusOr<BoundCall> BindCall(const Node& call) {
  if (!call.is_call())
    return absl::NotFoundError(absl::StrCat("%", Printable(call.name()), " is no call"));
  const Callable callee = CalleeOf(call);
  if (callee.overloads.empty()) {
    return absl::NotFoundError(
        absl::StrCat(Printable(call.target()), " has no schema that is known"));
  }
  return Bind(callee, call.args(), call.kwargs(), TypeOfValue);
}

absl::StatusOr<const Schema*> SchemaOf(const Node& call) {
  ASSIGN_OR_RETURN(const BoundCall bound, BindCall(call));
  return &bound.schema();
}

absl::StatusOr<Argument> ArgOf(const Node& call, absl::string_view parameter) {
  ASSIGN_OR_RETURN(const BoundCall bound, BindCall(call));
  const int index = bound.schema().IndexOf(parameter);
  if (index >= 0) {
    const Argument& value = bound[static_cast<size_t>(index)];
    if (bound.is_gathered(static_cast<size_t>(index))) {
      return absl::FailedPreconditionError(
          absl::StrCat(Printable(parameter), " of ", Printable(call.target()),
                       " is written as several arguments, or as one for several"));
    }
    return value;
  }
  std::vector<absl::string_view> known;
  for (const SchemaArgument& argument : bound.schema().arguments) known.push_back(argument.name);
  return absl::NotFoundError(absl::StrCat(Printable(call.target()), " takes no ",
                                          Printable(parameter), NearMissHint(parameter, known)));
}

}  // namespace graphnet
